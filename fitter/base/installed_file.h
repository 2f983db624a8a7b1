/*
 * Files that come with the program: spaces, clusters. They lie beside it, in ../share/pmhook/ of its folder,
 * in a build as where it is installed.
 */
#ifndef BASE_INSTALLED_FILE_H
#define BASE_INSTALLED_FILE_H

/* The folder "spaces" or "clusters" of them. The caller frees it; NULL where there is none. */
char *installed_folder(const char *folder);

/*
 * The path of a file that is given by its path, or by its name with or without the suffix (".space") where it
 * is one of the folder's and no file here has the name. The name itself where it is neither. The caller frees
 * it; NULL without memory.
 */
char *installed_file(const char *name, const char *folder, const char *suffix);

#endif
