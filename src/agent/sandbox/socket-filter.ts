/**
 * The program of seccomp that keeps a command from Unix sockets. Landlock restricts files, and a connection to a socket is none for
 * it, so that a command could ask D-Bus or Docker to run another one outside of the sandbox.
 */
import { endianness } from 'node:os'

interface Architecture {
  /** `AUDIT_ARCH`. */
  readonly id: number
  /** The numbers of the system calls. */
  readonly socket: number
  readonly socketpair: number
}

const architectures: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
  x64: { id: 0xc000003e, socket: 41, socketpair: 53 },
  arm64: { id: 0xc00000b7, socket: 198, socketpair: 199 },
  riscv64: { id: 0xc00000f3, socket: 198, socketpair: 199 },
  loong64: { id: 0xc0000102, socket: 198, socketpair: 199 },
}

/** Opens sockets without the system calls that are filtered. */
const ioUringSetup = 425
/** Calls of the x32 ABI have this bit. */
const x32 = 0x40000000
const unix = 1
const datagram = 2

const [load, and, equals, atLeast, end] = [0x20, 0x54, 0x15, 0x35, 0x06]
/** Offsets in `struct seccomp_data`. */
const [numberAt, architectureAt, firstArgumentAt, secondArgumentAt] = [0, 4, 16, 24]
/** `SECCOMP_RET_ALLOW`, and `SECCOMP_RET_ERRNO` with EPERM and ENOSYS. */
const [allowed, refused, unknown] = [0x7fff0000, 0x00050000 + 1, 0x00050000 + 38]

/** The targets of a jump are names of other instructions; without a name the next instruction follows. */
interface Instruction {
  readonly name?: string
  readonly code: number
  readonly value: number
  readonly ifTrue?: string
  readonly ifFalse?: string
}

/** In hexadecimal digits. Undefined where the system calls are not known. */
export function unixSocketFilter(architecture: NodeJS.Architecture): string | undefined {
  const known = architectures[architecture]
  if (known === undefined || endianness() !== 'LE') return undefined
  return encode([
    { code: load, value: architectureAt },
    { code: equals, value: known.id, ifFalse: 'refuse' },
    { code: load, value: numberAt },
    { code: atLeast, value: x32, ifTrue: 'refuse' },
    { code: equals, value: ioUringSetup, ifTrue: 'unknown' },
    { code: equals, value: known.socket, ifTrue: 'socket' },
    // A pair for datagrams can send to any address.
    { code: equals, value: known.socketpair, ifTrue: 'socketpair', ifFalse: 'allow' },
    { name: 'socket', code: load, value: firstArgumentAt },
    { code: equals, value: unix, ifTrue: 'refuse', ifFalse: 'allow' },
    { name: 'socketpair', code: load, value: secondArgumentAt },
    { code: and, value: 0xf },
    { code: equals, value: datagram, ifTrue: 'refuse', ifFalse: 'allow' },
    { name: 'allow', code: end, value: allowed },
    { name: 'unknown', code: end, value: unknown },
    { name: 'refuse', code: end, value: refused },
  ])
}

/** An array of `struct sock_filter`. A jump counts the instructions that it skips. */
function encode(program: readonly Instruction[]): string {
  const distance = (index: number, target: string | undefined) =>
    target === undefined ? 0 : program.findIndex(({ name }) => name === target) - index - 1
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, value, ifTrue, ifFalse }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(distance(index, ifTrue), index * 8 + 2)
    bytes.writeUInt8(distance(index, ifFalse), index * 8 + 3)
    bytes.writeUInt32LE(value, index * 8 + 4)
  }
  return bytes.toString('hex')
}
