/*
 * Walking the lists of a row of pm_hooks.def.
 *
 * A row's parameters are a list of pairs (type, name, type, name, ...), its values a list of triples (value, label,
 * expression, ...), its further columns pairs again. PM_PAIRS and PM_TRIPLES apply a macro to each member; one macro per
 * length, and no deeper levels. Macros alone: the linker's script is made with them, too (pmhook.map.in).
 */
#ifndef PM_LISTS_H
#define PM_LISTS_H

#define PM_JOIN_(a, b) a##b
#define PM_JOIN(a, b) PM_JOIN_(a, b)
#define PM_OPEN(...) __VA_ARGS__
#define PM_COMMA() ,
#define PM_NOTHING()

#define PM_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, \
	a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, \
	a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, \
	a60, a61, a62, a63, a64, a65, a66, a67, a68, a69, a70, a71, a72, n, ...) n
#define PM_COUNT(...) PM_COUNT_(__VA_ARGS__, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59, \
	58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, \
	33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, \
	7, 6, 5, 4, 3, 2, 1, 0)

/* f(type, name) for each pair, sep() between; f##_NONE for the list (void). */
#define PM_PAIRS(f, sep, ...) PM_JOIN(PM_PAIRS_, PM_COUNT(__VA_ARGS__))(f, sep, __VA_ARGS__)
#define PM_PAIRS_1(f, sep, none) f##_NONE
#define PM_PAIRS_2(f, sep, t, n) f(t, n)
#define PM_PAIRS_4(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_2(f, sep, __VA_ARGS__)
#define PM_PAIRS_6(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_4(f, sep, __VA_ARGS__)
#define PM_PAIRS_8(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_6(f, sep, __VA_ARGS__)
#define PM_PAIRS_10(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_8(f, sep, __VA_ARGS__)
#define PM_PAIRS_12(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_10(f, sep, __VA_ARGS__)
#define PM_PAIRS_14(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_12(f, sep, __VA_ARGS__)
#define PM_PAIRS_16(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_14(f, sep, __VA_ARGS__)
#define PM_PAIRS_18(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_16(f, sep, __VA_ARGS__)
#define PM_PAIRS_20(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_18(f, sep, __VA_ARGS__)
#define PM_PAIRS_22(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_20(f, sep, __VA_ARGS__)
#define PM_PAIRS_24(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_22(f, sep, __VA_ARGS__)
#define PM_PAIRS_26(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_24(f, sep, __VA_ARGS__)
#define PM_PAIRS_28(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_26(f, sep, __VA_ARGS__)
#define PM_PAIRS_30(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_28(f, sep, __VA_ARGS__)
#define PM_PAIRS_32(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_30(f, sep, __VA_ARGS__)
#define PM_PAIRS_34(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_32(f, sep, __VA_ARGS__)
#define PM_PAIRS_36(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_34(f, sep, __VA_ARGS__)
#define PM_PAIRS_38(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_36(f, sep, __VA_ARGS__)
#define PM_PAIRS_40(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_38(f, sep, __VA_ARGS__)
#define PM_PAIRS_42(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_40(f, sep, __VA_ARGS__)
#define PM_PAIRS_44(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_42(f, sep, __VA_ARGS__)
#define PM_PAIRS_46(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_44(f, sep, __VA_ARGS__)
#define PM_PAIRS_48(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_46(f, sep, __VA_ARGS__)
#define PM_PAIRS_50(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_48(f, sep, __VA_ARGS__)
#define PM_PAIRS_52(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_50(f, sep, __VA_ARGS__)
#define PM_PAIRS_54(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_52(f, sep, __VA_ARGS__)
#define PM_PAIRS_56(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_54(f, sep, __VA_ARGS__)
#define PM_PAIRS_58(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_56(f, sep, __VA_ARGS__)
#define PM_PAIRS_60(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_58(f, sep, __VA_ARGS__)
#define PM_PAIRS_62(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_60(f, sep, __VA_ARGS__)
#define PM_PAIRS_64(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_62(f, sep, __VA_ARGS__)
#define PM_PAIRS_66(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_64(f, sep, __VA_ARGS__)
#define PM_PAIRS_68(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_66(f, sep, __VA_ARGS__)
#define PM_PAIRS_70(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_68(f, sep, __VA_ARGS__)
#define PM_PAIRS_72(f, sep, t, n, ...) f(t, n) sep() PM_PAIRS_70(f, sep, __VA_ARGS__)

/* f(value, label, expression) for each triple; nothing for the list (NONE). */
#define PM_TRIPLES(f, ...) PM_JOIN(PM_TRIPLES_, PM_COUNT(__VA_ARGS__))(f, __VA_ARGS__)
#define PM_TRIPLES_1(f, none)
#define PM_TRIPLES_3(f, v, l, e) f(v, l, e)
#define PM_TRIPLES_6(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_3(f, __VA_ARGS__)
#define PM_TRIPLES_9(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_6(f, __VA_ARGS__)
#define PM_TRIPLES_12(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_9(f, __VA_ARGS__)
#define PM_TRIPLES_15(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_12(f, __VA_ARGS__)
#define PM_TRIPLES_18(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_15(f, __VA_ARGS__)
#define PM_TRIPLES_21(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_18(f, __VA_ARGS__)
#define PM_TRIPLES_24(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_21(f, __VA_ARGS__)
#define PM_TRIPLES_27(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_24(f, __VA_ARGS__)
#define PM_TRIPLES_30(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_27(f, __VA_ARGS__)
#define PM_TRIPLES_33(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_30(f, __VA_ARGS__)
#define PM_TRIPLES_36(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_33(f, __VA_ARGS__)
#define PM_TRIPLES_39(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_36(f, __VA_ARGS__)
#define PM_TRIPLES_42(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_39(f, __VA_ARGS__)
#define PM_TRIPLES_45(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_42(f, __VA_ARGS__)
#define PM_TRIPLES_48(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_45(f, __VA_ARGS__)
#define PM_TRIPLES_51(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_48(f, __VA_ARGS__)
#define PM_TRIPLES_54(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_51(f, __VA_ARGS__)
#define PM_TRIPLES_57(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_54(f, __VA_ARGS__)
#define PM_TRIPLES_60(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_57(f, __VA_ARGS__)
#define PM_TRIPLES_63(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_60(f, __VA_ARGS__)
#define PM_TRIPLES_66(f, v, l, e, ...) f(v, l, e) PM_TRIPLES_63(f, __VA_ARGS__)

/* A prototype's parameter list, and the arguments of a call, of a row's pairs. */
#define PM_PARAMETERS(...) (PM_PAIRS(PM_PARAMETER, PM_COMMA, __VA_ARGS__))
#define PM_PARAMETER(t, n) t n
#define PM_PARAMETER_NONE void
#define PM_ARGUMENTS(...) (PM_PAIRS(PM_ARGUMENT, PM_COMMA, __VA_ARGS__))
#define PM_ARGUMENT(t, n) n
#define PM_ARGUMENT_NONE

/* Of a row's further columns, those that its twin for per-thread default streams has as well. */
#define PM_TWIN(column, value) PM_TWIN_##column(value)
#define PM_TWIN_NONE
#define PM_TWIN_ROLE(role) , ROLE, role
#define PM_TWIN_CHANGED(major) , CHANGED, major
#define PM_TWIN_TOUCHES(arguments) , TOUCHES, arguments
#define PM_TWIN_TABLE(arguments) , TABLE, arguments
#define PM_TWIN_FREES(address) , FREES, address
#define PM_TWIN_ACCESS(accesses) , ACCESS, accesses
#define PM_TWIN_SHAPE(label) , SHAPE, label
#define PM_TWIN_SINCE(version)
#define PM_TWIN_CALLBACK(numbers)

#endif
