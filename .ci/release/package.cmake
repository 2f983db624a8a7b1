# The deb and rpm packages, by cpack in the build folder: `pmhook` has the programs, `pmhook-softgpu` softgpu and the trainers.
set(CPACK_PACKAGE_VENDOR pmhook)
set(CPACK_PACKAGE_CONTACT "the pmhook developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Where a deep-learning training program's time goes, without touching it")
set(CPACK_PACKAGE_DESCRIPTION "libpmhook.so records the calls to CUDA, cuDNN, cuBLAS and NCCL; pmanalyze says where the time goes; pmfit predicts.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL pmhook softgpu)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= $ENV{PM_GLIBC})")
set(CPACK_DEBIAN_PMHOOK_PACKAGE_NAME pmhook)
set(CPACK_DEBIAN_SOFTGPU_PACKAGE_NAME pmhook-softgpu)
set(CPACK_DEBIAN_SOFTGPU_PACKAGE_DEPENDS "libc6 (>= $ENV{PM_GLIBC}), pmhook")
set(CPACK_DEBIAN_SOFTGPU_PACKAGE_RECOMMENDS "libdnnl2 | libdnnl3, libopenblas0")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_AUTOREQPROV " no")
# the same bytes from the same commit: times are those of SOURCE_DATE_EPOCH, and no host is named
set(CPACK_RPM_SPEC_MORE_DEFINE "%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _buildhost localhost")
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= $ENV{PM_GLIBC}")
set(CPACK_RPM_PMHOOK_PACKAGE_NAME pmhook)
set(CPACK_RPM_SOFTGPU_PACKAGE_NAME pmhook-softgpu)
set(CPACK_RPM_SOFTGPU_PACKAGE_REQUIRES "glibc >= $ENV{PM_GLIBC}, pmhook")
include(CPack)
