/**
 * Commands that run another command given as their arguments: `sudo`, `env`, `xargs`, `find -exec`.
 */
import { type Field, literal, unknownPiece } from './field.ts'

interface Shape {
  /** Short options with a value of their own. */
  readonly short?: string
  /** Long options whose value is the next word. */
  readonly long?: readonly string[]
  /** Words before the command: the seconds of `timeout`. */
  readonly words?: number
  /** `NAME=value` may come first. */
  readonly assignments?: boolean
}

const shapes: Readonly<Record<string, Shape>> = {
  sudo: {
    short: 'CDghpRrTtUu',
    long: [
      'user',
      'group',
      'host',
      'prompt',
      'chdir',
      'chroot',
      'close-from',
      'role',
      'type',
      'other-user',
      'command-timeout',
    ],
    assignments: true,
  },
  doas: { short: 'uC' },
  env: { short: 'uC', long: ['unset', 'chdir'], assignments: true },
  nohup: {},
  time: { short: 'fo', long: ['format', 'output'] },
  timeout: { short: 'ks', long: ['kill-after', 'signal'], words: 1 },
  nice: { short: 'n', long: ['adjustment'] },
  ionice: { short: 'cnpPu', long: ['class', 'classdata'] },
  chrt: { short: 'TPD', words: 1 },
  taskset: { words: 1 },
  setsid: {},
  stdbuf: { short: 'ioe', long: ['input', 'output', 'error'] },
  command: {},
  builtin: {},
  exec: { short: 'a' },
  chroot: { long: ['userspec', 'groups'], words: 1 },
  unshare: { short: 'SGRw' },
  nsenter: { short: 'tSG', long: ['target', 'setuid', 'setgid'] },
  xargs: {
    short: 'aEdILnPs',
    long: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars', 'max-lines'],
  },
  strace: { short: 'abEeIOoPpSsuX' },
  ltrace: { short: 'aeFlnoPpsuxX' },
  caffeinate: { short: 'tw' },
  'systemd-run': { short: 'EHMptu', long: ['unit', 'property', 'description', 'slice', 'uid', 'gid', 'setenv'] },
  pkexec: { long: ['user'] },
  runuser: { short: 'ugG', long: ['user', 'group'] },
  flock: { short: 'wE', long: ['wait', 'timeout', 'conflict-exit-code'], words: 1 },
  fakeroot: { short: 'lsbi' },
  faketime: { words: 1 },
  unbuffer: {},
  'dbus-run-session': {},
  'xvfb-run': { short: 'efnpsw' },
  setpriv: {
    long: ['reuid', 'regid', 'groups', 'inh-caps', 'ambient-caps', 'bounding-set', 'securebits', 'pdeathsig'],
  },
  gosu: { words: 1 },
  'su-exec': { words: 1 },
  prlimit: {},
  choom: { short: 'n', long: ['adjust'] },
  setarch: { words: 1 },
  linux32: {},
  linux64: {},
  numactl: { short: 'NCmipl' },
  firejail: {},
  chronic: {},
  valgrind: {},
  torsocks: {},
  torify: {},
  proxychains: { short: 'f' },
  proxychains4: { short: 'f' },
  rlwrap: {},
  busybox: {},
  toybox: {},
  coproc: {},
}

/** The commands that a command runs, each with its name first. None when it runs none. */
export function innerCommands(name: string, args: readonly Field[]): Field[][] {
  if (name === 'find' || name === 'fd') return executedByFind(args)
  const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
  if (shape === undefined) return []
  // These only tell where a command is.
  if (name === 'command' && /^-[pvV]*[vV]/.test(literal(args[0]) ?? '')) return []
  const inner = args.slice(startOfCommand(shape, args))
  if (inner.length === 0) return []
  return [name === 'xargs' ? [...inner, [unknownPiece('{}')]] : inner]
}

function startOfCommand(
  { short = '', long = [], words = 0, assignments = false }: Shape,
  args: readonly Field[],
): number {
  let at = 0
  while (at < args.length) {
    const text = literal(args[at])
    if (text === undefined) break
    if (assignments && /^\w+=/.test(text)) at += 1
    else if (text === '--') {
      at += 1
      break
    } else if (text.startsWith('--')) at += long.includes(text.slice(2)) ? 2 : 1
    else if (/^-./.test(text)) at += endsWithValueOption(text, short) ? 2 : 1
    else break
  }
  return at + words
}

/** `-u` and `-nu` take the next word as their value, `-uroot` brings its own. */
function endsWithValueOption(text: string, short: string): boolean {
  const letters = [...text.slice(1)]
  const first = letters.findIndex((letter) => short.includes(letter))
  return first >= 0 && first === letters.length - 1
}

function executedByFind(args: readonly Field[]): Field[][] {
  const found: Field[][] = []
  let current: Field[] | undefined
  for (const field of args) {
    const text = literal(field)
    if (current === undefined) {
      if (/^(?:-(?:exec|execdir|ok|okdir|x|X)|--exec|--exec-batch)$/.test(text ?? '')) current = []
    } else if (text === ';' || text === '+') {
      found.push(current)
      current = undefined
    } else current.push(text?.includes('{}') === true ? [unknownPiece(text)] : field)
  }
  if (current !== undefined) found.push(current)
  return found.filter((inner) => inner.length > 0)
}
