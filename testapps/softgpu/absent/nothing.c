/* A library that programs are linked to and take nothing from. */
extern const char softgpu_nothing[];
const char softgpu_nothing[] = "softgpu";
