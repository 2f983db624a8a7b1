/*
 * What libunwind asks of a foreign address space, answered for our own.
 *
 * _dl_find_object (glibc 2.35) finds the object that an address lies in, and its unwind table, without a
 * lock. An older C library is asked by dl_iterate_phdr, whose lock a fork can leave held; so a child of fork
 * does not unwind there.
 */
#include "unwind.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cfi.h"
#include "guest/guest.h"
#include "guest/thread.h"

#define FRAMES_MAX 256

/* libunwind.h renames its functions by macro; the names behind are the library's */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Exported for debuggers, and declared in none of its headers. */
typedef int search_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table, unw_proc_info_t *found,
	int need_unwind_info, void *argument);

/* As <dlfcn.h> has it since glibc 2.35. */
struct found_object {
	unsigned long long flags;
	void *start, *end;
	struct link_map *map;
	void *eh_frame; /* PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};

static struct unwinder {
	__typeof__(&unw_create_addr_space) create;
	__typeof__(&unw_init_remote) begin;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	search_table *search;
	int (*find_object)(void *address, struct found_object *found);
} unwinder;
static unw_addr_space_t space; /* NULL: there is no unwinder */
static _Atomic bool sought;
static bool in_child;
static pmh_lock unwinding = ATOMIC_FLAG_INIT; /* for all of this file */

/* What a walk may read. */
struct walk {
	const struct pmh_context *from;
	uint64_t stack_start, stack_end;
	uint64_t table_start, table_end; /* the segment that holds the last unwind table asked for */
};

/* ---- objects ---- */

struct object {
	uint64_t start, end;             /* of its mapping */
	uint64_t header;                 /* of its unwind table, PT_GNU_EH_FRAME */
	uint64_t table_start, table_end; /* of the segment that it lies in */
	const struct link_map *map;
};

static bool object_from_headers(
	const ElfW(Phdr) * headers, unsigned header_count, uint64_t bias, struct object *object)
{
	uint64_t header = 0;

	for (unsigned i = 0; i < header_count; i++)
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			header = headers[i].p_vaddr;
	for (unsigned i = 0; header && i < header_count; i++)
		if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_R) &&
			header - headers[i].p_vaddr < headers[i].p_filesz) {
			object->header = bias + header;
			object->table_start = bias + headers[i].p_vaddr;
			object->table_end = object->table_start + headers[i].p_filesz;
			return true;
		}
	return false;
}

/* The program headers lie after the ELF header in the first page that is mapped. */
static bool object_from_start(const struct found_object *found, struct object *object)
{
	const ElfW(Ehdr) *elf = found->start;

	*object = (struct object){
		.start = (uintptr_t)found->start, .end = (uintptr_t)found->end, .map = found->map};
	return object->end - object->start >= 4096 && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 &&
	       elf->e_phentsize == sizeof(ElfW(Phdr)) &&
	       elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) <= 4096 &&
	       object_from_headers((const ElfW(Phdr) *)(const void *)((const char *)elf + elf->e_phoff),
		       elf->e_phnum, found->map->l_addr, object);
}

struct search {
	uint64_t address;
	struct object *object;
};

static int object_match(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct search *s = data;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || s->address - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz)
			continue;
		*s->object = (struct object){.start = info->dlpi_addr + p->p_vaddr,
			.end = info->dlpi_addr + p->p_vaddr + p->p_memsz};
		return object_from_headers(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, s->object) ? 1
													  : 2;
	}
	return 0;
}

static bool object_at(uint64_t address, struct object *object)
{
	struct found_object found;

	if (unwinder.find_object)
		return unwinder.find_object((void *)(uintptr_t)address, &found) == 0 &&
		       object_from_start(&found, object);
	return !in_child && dl_iterate_phdr(object_match, &(struct search){address, object}) == 1;
}

bool pmh_mapped_at(uint64_t address, struct pmh_mapped *found)
{
	struct found_object object;

	if (!unwinder.find_object || unwinder.find_object((void *)(uintptr_t)address, &object) != 0)
		return false;
	*found = (struct pmh_mapped){(uintptr_t)object.start, (uintptr_t)object.end, object.map};
	return true;
}

bool pmh_is_signal_return(uint64_t address)
{
#if defined(__x86_64__)
	/* mov $15, %rax; syscall */
	static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
#elif defined(__aarch64__)
	/* mov x8, #139; svc #0 */
	static const unsigned char code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
#else
	static const unsigned char code[] = {0};
#endif
	struct object object;

	return sizeof code > 1 && object_at(address, &object) && object.end - address >= sizeof code &&
	       memcmp((const void *)(uintptr_t)address, code, sizeof code) == 0;
}

/* ---- what libunwind asks ---- */

/* A binary search table after a header of four bytes that say how it is written: as all linkers do. */
static int find_proc_info(
	unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info, void *argument)
{
	static const unsigned char usual[4] = {1, 0x1b, 0x03, 0x3b};
	struct walk *walk = argument;
	struct object object;
	uint32_t entry_count;
	unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};

	if (!object_at(ip, &object) || object.table_end - object.header < 12 ||
		memcmp((const void *)(uintptr_t)object.header, usual, sizeof usual) != 0)
		return -UNW_ENOINFO;
	memcpy(&entry_count, (const void *)(uintptr_t)(object.header + 8), sizeof entry_count);
	if (entry_count > (object.table_end - object.header - 12) / 8)
		return -UNW_ENOINFO;
	walk->table_start = object.table_start;
	walk->table_end = object.table_end;
	table.start_ip = object.start;
	table.end_ip = object.end;
	table.u.rti.segbase = object.header;
	table.u.rti.table_len = entry_count * 8 / sizeof(unw_word_t);
	table.u.rti.table_data = object.header + 12;
	return unwinder.search(as, ip, &table, info, need_unwind_info, argument);
}

/* Of the kind that find_proc_info returns libunwind frees it itself. */
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *argument)
{
	(void)as;
	(void)info;
	(void)argument;
}

static int get_dyn_info_list(unw_addr_space_t as, unw_word_t *list, void *argument)
{
	(void)as;
	(void)list;
	(void)argument;
	return -UNW_ENOINFO;
}

static bool is_within(unw_word_t address, uint64_t start, uint64_t end)
{
	return address >= start && address < end && end - address >= sizeof(unw_word_t);
}

/* A sanitizer knows the frames of the program's functions, and not that somebody walks over them. */
__attribute__((no_sanitize("address", "thread"))) static int access_mem(
	unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write, void *argument)
{
	const struct walk *walk = argument;

	(void)as;
	if (write || (!is_within(address, walk->stack_start, walk->stack_end) &&
			     !is_within(address, walk->table_start, walk->table_end)))
		return -UNW_EINVAL;
	*value = *(const volatile unw_word_t *)(uintptr_t)address;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t number, unw_word_t *value, int write, void *argument)
{
	const struct pmh_context *from = ((const struct walk *)argument)->from;

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	*value = 0; /* the others belong to callees */
#if defined(__x86_64__)
	switch (number) {
	case UNW_X86_64_RBX:
		*value = from->rbx;
		break;
	case UNW_X86_64_RBP:
		*value = from->rbp;
		break;
	case UNW_X86_64_R12:
		*value = from->r12;
		break;
	case UNW_X86_64_R13:
		*value = from->r13;
		break;
	case UNW_X86_64_R14:
		*value = from->r14;
		break;
	case UNW_X86_64_R15:
		*value = from->r15;
		break;
	case UNW_X86_64_RSP:
		*value = from->rsp;
		break;
	case UNW_X86_64_RIP:
		*value = from->rip;
		break;
	default:
		break;
	}
#elif defined(__aarch64__)
	if (number >= UNW_AARCH64_X19 && number <= UNW_AARCH64_X30)
		*value = from->x19_to_x30[number - UNW_AARCH64_X19];
	else if (number == UNW_AARCH64_SP)
		*value = from->sp;
	else if (number == UNW_AARCH64_PC)
		*value = from->pc;
#endif
	return 0;
}

static int access_fpreg(
	unw_addr_space_t as, unw_regnum_t number, unw_fpreg_t *value, int write, void *argument)
{
	(void)as;
	(void)number;
	(void)value;
	(void)write;
	(void)argument;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *argument)
{
	(void)as;
	(void)cursor;
	(void)argument;
	return -UNW_EINVAL;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
};

/* ---- the stack ---- */

struct maps {
	uint64_t address;
	uint64_t start, end; /* of the mapping that it lies in */
};

/* Goes through the process's maps a line at a time: "start-end ...\n", in hexadecimal. */
static long find_mapping(void *argument)
{
	struct maps *maps = argument;
	uint64_t bounds[2] = {0, 0};
	unsigned field = 0; /* start, end, the rest of the line */
	char text[4096];
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC), n;
	bool found = false;

	if (fd < 0)
		return false;
	while (!found && (n = syscall(SYS_read, fd, text, sizeof text)) > 0)
		for (long i = 0; i < n && !found; i++) {
			const unsigned char c = (unsigned char)text[i];

			if (c == '\n') {
				field = 0;
				bounds[0] = bounds[1] = 0;
			} else if (field < 2 && (c == '-' || c == ' ')) {
				found = ++field == 2 && maps->address >= bounds[0] &&
					maps->address < bounds[1];
			} else if (field < 2) {
				bounds[field] = bounds[field] << 4 | (c <= '9' ? c - 48u : c - 87u);
			}
		}
	syscall(SYS_close, fd);
	maps->start = bounds[0];
	maps->end = bounds[1];
	return found;
}

/* The mapping that the stack pointer lies in, kept for the thread: it mostly is the same. */
static bool find_stack(uint64_t pointer, struct walk *walk)
{
	struct pmh_thread *self = &pmh_self;
	struct maps maps = {.address = pointer};

	if (pointer - self->stack_start >= self->stack_end - self->stack_start) {
		if (!pmh_run_in_clone_task_or_here(find_mapping, &maps))
			return false;
		self->stack_start = maps.start;
		self->stack_end = maps.end;
	}
	walk->stack_start = pointer;
	walk->stack_end = self->stack_end;
	return true;
}

static uint64_t stack_pointer(const struct pmh_context *from)
{
#if defined(__x86_64__)
	return from->rsp;
#elif defined(__aarch64__)
	return from->sp;
#else
	(void)from;
	return 0;
#endif
}

/* ---- walking ---- */

/*
 * libunwind holds back signals around each step, two system calls, and reads the table anew. So rules of
 * ordinary frames are read and kept here, and what has another rule is left to it.
 */
#if defined(__x86_64__)
#define RULES 8192u
static struct known_rule {
	uint64_t address; /* 0: none */
	struct pmh_cfi_rule rule;
} rules[RULES];

static struct pmh_cfi_rule rule_at(uint64_t address)
{
	struct known_rule *known = &rules[(address * 0x9e3779b97f4a7c15u >> 32) % RULES];
	struct object object;

	if (known->address == address)
		return known->rule;
	known->address = address;
	known->rule = object_at(address, &object)
			      ? pmh_cfi_find(address, object.header, object.table_start, object.table_end)
			      : (struct pmh_cfi_rule){.from = PMH_CFI_UNKNOWN};
	return known->rule;
}

struct registers {
	uint64_t rip, rsp, rbp;
};

/* A sanitizer knows the frames of the program's functions, and not that somebody walks over them. */
__attribute__((no_sanitize("address", "thread"))) static bool load_stack(
	const struct walk *walk, uint64_t address, uint64_t *value)
{
	if (!is_within(address, walk->stack_start, walk->stack_end))
		return false;
	*value = *(const volatile uint64_t *)(uintptr_t)address;
	return true;
}

/* To the caller; false: it is not known here. */
static bool step_out(const struct walk *walk, struct registers *r, struct pmh_cfi_rule rule)
{
	const uint64_t cfa =
		(rule.from == PMH_CFI_FROM_RSP ? r->rsp : r->rbp) + (uint64_t)(int64_t)rule.cfa_offset;

	/* a stack grows towards its end */
	if (cfa <= r->rsp || !load_stack(walk, cfa - 8, &r->rip) ||
		(rule.rbp_offset && !load_stack(walk, cfa + (uint64_t)(int64_t)rule.rbp_offset, &r->rbp)))
		return false;
	r->rsp = cfa;
	return true;
}

/* Visits frames as far as rules are known here, *visited of them. False: libunwind has to go on. */
static bool walk_by_rules(const struct walk *walk, pmh_visit *visit, void *data, int *visited)
{
	struct registers r = {walk->from->rip, walk->from->rsp, walk->from->rbp};

	for (*visited = 0; *visited < FRAMES_MAX; ++*visited) {
		/* of callers the address is after the call, which may be the function's last instruction */
		const struct pmh_cfi_rule rule = rule_at(r.rip - (*visited > 0));

		if (rule.from == PMH_CFI_OUTERMOST)
			return true;
		if (rule.from == PMH_CFI_UNKNOWN || !step_out(walk, &r, rule))
			return false;
		if (!r.rip || !visit(r.rip, r.rsp, data)) {
			++*visited;
			return true;
		}
	}
	return true;
}
#else
static bool walk_by_rules(const struct walk *walk, pmh_visit *visit, void *data, int *visited)
{
	(void)walk;
	(void)visit;
	(void)data;
	*visited = 0;
	return false;
}
#endif

/* All frames but the first `visited`. */
static void walk_by_libunwind(struct walk *walk, pmh_visit *visit, void *data, int visited)
{
	unw_cursor_t cursor;
	unw_word_t address, stack;

	if (unwinder.begin(&cursor, space, walk) != 0)
		return;
	for (int seen = 0; seen < FRAMES_MAX && unwinder.step(&cursor) > 0; seen++)
		if (unwinder.get_reg(&cursor, UNW_REG_IP, &address) != 0 ||
			unwinder.get_reg(&cursor, UNW_REG_SP, &stack) != 0 || !address ||
			(seen >= visited && !visit(address, stack, data)))
			break;
}

bool pmh_unwind(const struct pmh_context *from, pmh_visit *visit, void *data)
{
	struct walk walk = {.from = from};
	int visited;

	if (!from || !space || !find_stack(stack_pointer(from), &walk))
		return false;
	pmh_acquire(&unwinding);
	if (!walk_by_rules(&walk, visit, data, &visited))
		walk_by_libunwind(&walk, visit, data, visited);
	pmh_release(&unwinding);
	return true;
}

/* ---- loading ---- */

static void find_unwinder(struct unwinder *found)
{
#if defined(__x86_64__)
	void *library = dlopen("libunwind-x86_64.so.8", RTLD_LAZY | RTLD_LOCAL);
#elif defined(__aarch64__)
	void *library = dlopen("libunwind-aarch64.so.8", RTLD_LAZY | RTLD_LOCAL);
#else
	void *library = NULL;
#endif

	*(void **)&found->find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	if (!library)
		return;
	*(void **)&found->create = dlsym(library, TEXT(unw_create_addr_space));
	*(void **)&found->begin = dlsym(library, TEXT(unw_init_remote));
	*(void **)&found->step = dlsym(library, TEXT(unw_step));
	*(void **)&found->get_reg = dlsym(library, TEXT(unw_get_reg));
	*(void **)&found->search = dlsym(library, TEXT(UNW_ARCH_OBJ(dwarf_search_unwind_table)));
}

/* Its first use opens the pipe, for spaces that it does not ask us about: in a task of which it goes with. */
static long begin_once(void *argument)
{
	struct walk walk = {.from = pmh_came_from()};
	unw_cursor_t cursor;

	(void)argument;
	space = unwinder.create(&accessors, 0);
	if (space && unwinder.begin(&cursor, space, &walk) != 0)
		space = NULL;
	return space != NULL;
}

void pmh_unwind_init(void)
{
	struct unwinder found = {0};
	long result;

	if (atomic_load_explicit(&sought, memory_order_acquire))
		return;
	find_unwinder(&found);
	pmh_acquire(&unwinding);
	if (!sought) {
		unwinder = found;
		if (found.create && found.begin && found.step && found.get_reg && found.search)
			pmh_run_in_clone_task(begin_once, NULL, &result);
	}
	atomic_store_explicit(&sought, true, memory_order_release);
	pmh_release(&unwinding);
}

void pmh_unwind_forget(void)
{
	in_child = true;
	pmh_lock_forget(&unwinding);
}
