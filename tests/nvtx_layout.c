/* What we declare of NVTX ourselves (preload/framework/nvtx_abi.h) against the vendor's headers: what differs does not
 * compile. */
#include <stddef.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "framework/nvtx_abi.h"

#define SAME(own, vendors) _Static_assert((int)(own) == (int)(vendors), #own)
#define SAME_FIELD(own, vendors) \
	_Static_assert(offsetof(struct nvtx_attributes, own) == offsetof(nvtxEventAttributes_t, vendors) && \
			       sizeof(((struct nvtx_attributes *)0)->own) == \
				       sizeof(((nvtxEventAttributes_t *)0)->vendors), \
		#own)

_Static_assert(sizeof(struct nvtx_attributes) == sizeof(nvtxEventAttributes_t), "attributes");
SAME_FIELD(version, version);
SAME_FIELD(byte_count, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(NVTX_COLOR_IS_ARGB, NVTX_COLOR_ARGB);
SAME(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_NO_DEPTH, NVTX_NO_PUSH_POP_TRACKING);

_Static_assert(sizeof(struct nvtx_callbacks) == sizeof(NvtxExportTableCallbacks) &&
		       offsetof(struct nvtx_callbacks, table) ==
			       offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable),
	"callbacks");
SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_DOMAINS, NVTX_CB_MODULE_CORE2);
SAME(NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
