# Before a package is packed: what is older than the commit, as files of a tree in use are, is made newer, and rpm then gives all files
# the commit's date (clamp_mtime_to_source_date_epoch).
file(GLOB_RECURSE files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
file(TOUCH_NOCREATE ${files})
