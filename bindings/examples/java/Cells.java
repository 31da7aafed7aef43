// The risk of cells from Java 22 or later: its foreign functions open libriskcore.so.
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

public class Cells {
    static final SymbolLookup LIBRARY =
            SymbolLookup.libraryLookup(Path.of("libriskcore.so"), Arena.global());

    // void riskcore_individual_risk_array(const double *, const double *, double *, int64_t)
    static final MethodHandle RISKS = Linker.nativeLinker().downcallHandle(
            LIBRARY.find("riskcore_individual_risk_array").orElseThrow(),
            FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG));

    /** Return the risk of each cell. */
    static double[] risks(double[] f, double[] p) throws Throwable {
        if (f.length != p.length)
            throw new IllegalArgumentException("f and p differ in length");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_DOUBLE, f.length);
            RISKS.invokeExact(arena.allocateFrom(JAVA_DOUBLE, f),
                    arena.allocateFrom(JAVA_DOUBLE, p), out, (long) f.length);
            return out.toArray(JAVA_DOUBLE);
        }
    }

    public static void main(String[] arguments) throws Throwable {
        double[] f = {1, 2, 3, 2.5, 40}, p = {0.01, 0.02, 0.5, 0.03, 0.3};
        for (double risk : risks(f, p))
            System.out.println(risk);
    }
}
