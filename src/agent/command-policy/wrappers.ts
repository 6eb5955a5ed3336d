/**
 * Commands that run another command from their arguments: `sudo`, `env`, `xargs`, `find -exec`.
 */
import { type Field, literalText, unknownPiece } from './field.ts'

interface WrapperSyntax {
  /** Short options that take a value. */
  readonly shortValueOptions?: string
  /** Long options whose value is the next word. */
  readonly longValueOptions?: readonly string[]
  /** Operands before the command, such as the duration of `timeout`. */
  readonly leadingOperands?: number
  /** Whether `NAME=value` may precede the command. */
  readonly assignments?: boolean
}

const wrapperSyntaxes: Readonly<Record<string, WrapperSyntax>> = {
  sudo: {
    shortValueOptions: 'CDghpRrTtUu',
    longValueOptions: [
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
  doas: { shortValueOptions: 'uC' },
  env: { shortValueOptions: 'uC', longValueOptions: ['unset', 'chdir'], assignments: true },
  nohup: {},
  time: { shortValueOptions: 'fo', longValueOptions: ['format', 'output'] },
  timeout: { shortValueOptions: 'ks', longValueOptions: ['kill-after', 'signal'], leadingOperands: 1 },
  nice: { shortValueOptions: 'n', longValueOptions: ['adjustment'] },
  ionice: { shortValueOptions: 'cnpPu', longValueOptions: ['class', 'classdata'] },
  chrt: { shortValueOptions: 'TPD', leadingOperands: 1 },
  taskset: { leadingOperands: 1 },
  setsid: {},
  stdbuf: { shortValueOptions: 'ioe', longValueOptions: ['input', 'output', 'error'] },
  command: {},
  builtin: {},
  exec: { shortValueOptions: 'a' },
  chroot: { longValueOptions: ['userspec', 'groups'], leadingOperands: 1 },
  unshare: { shortValueOptions: 'SGRw' },
  nsenter: { shortValueOptions: 'tSG', longValueOptions: ['target', 'setuid', 'setgid'] },
  xargs: {
    shortValueOptions: 'aEdILnPs',
    longValueOptions: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars', 'max-lines'],
  },
  strace: { shortValueOptions: 'abEeIOoPpSsuX' },
  ltrace: { shortValueOptions: 'aeFlnoPpsuxX' },
  caffeinate: { shortValueOptions: 'tw' },
  'systemd-run': {
    shortValueOptions: 'EHMptu',
    longValueOptions: ['unit', 'property', 'description', 'slice', 'uid', 'gid', 'setenv'],
  },
  pkexec: { longValueOptions: ['user'] },
  runuser: { shortValueOptions: 'ugG', longValueOptions: ['user', 'group'] },
  flock: { shortValueOptions: 'wE', longValueOptions: ['wait', 'timeout', 'conflict-exit-code'], leadingOperands: 1 },
  fakeroot: { shortValueOptions: 'lsbi' },
  faketime: { leadingOperands: 1 },
  unbuffer: {},
  'dbus-run-session': {},
  'xvfb-run': { shortValueOptions: 'efnpsw' },
  setpriv: {
    longValueOptions: [
      'reuid',
      'regid',
      'groups',
      'inh-caps',
      'ambient-caps',
      'bounding-set',
      'securebits',
      'pdeathsig',
    ],
  },
  gosu: { leadingOperands: 1 },
  'su-exec': { leadingOperands: 1 },
  prlimit: {},
  choom: { shortValueOptions: 'n', longValueOptions: ['adjust'] },
  setarch: { leadingOperands: 1 },
  linux32: {},
  linux64: {},
  numactl: { shortValueOptions: 'NCmipl' },
  firejail: {},
  chronic: {},
  valgrind: {},
  torsocks: {},
  torify: {},
  proxychains: { shortValueOptions: 'f' },
  proxychains4: { shortValueOptions: 'f' },
  rlwrap: {},
  busybox: {},
  toybox: {},
  coproc: {},
}

/** Returns the commands that a command runs, each as its words. */
export function wrappedCommands(name: string, args: readonly Field[]): Field[][] {
  if (name === 'find' || name === 'fd') return commandsOfFind(args)
  const syntax = Object.hasOwn(wrapperSyntaxes, name) ? wrapperSyntaxes[name] : undefined
  if (syntax === undefined) return []
  // `command -v` only prints the location of a command.
  if (name === 'command' && /^-[pvV]*[vV]/.test(literalText(args[0]) ?? '')) return []
  const inner = args.slice(indexOfCommand(syntax, args))
  if (inner.length === 0) return []
  return [name === 'xargs' ? [...inner, [unknownPiece('{}')]] : inner]
}

function indexOfCommand(
  { shortValueOptions = '', longValueOptions = [], leadingOperands = 0, assignments = false }: WrapperSyntax,
  args: readonly Field[],
): number {
  let index = 0
  while (index < args.length) {
    const text = literalText(args[index])
    if (text === undefined) break
    if (assignments && /^\w+=/.test(text)) index += 1
    else if (text === '--') {
      index += 1
      break
    } else if (text.startsWith('--')) index += longValueOptions.includes(text.slice(2)) ? 2 : 1
    else if (/^-./.test(text)) index += endsWithValueOption(text, shortValueOptions) ? 2 : 1
    else break
  }
  return index + leadingOperands
}

/** `-u` and `-nu` take the next word as their value; `-uroot` contains it. */
function endsWithValueOption(text: string, valueOptions: string): boolean {
  const letters = [...text.slice(1)]
  const first = letters.findIndex((letter) => valueOptions.includes(letter))
  return first >= 0 && first === letters.length - 1
}

function commandsOfFind(args: readonly Field[]): Field[][] {
  const commands: Field[][] = []
  let current: Field[] | undefined
  for (const field of args) {
    const text = literalText(field)
    if (current === undefined) {
      if (/^(?:-(?:exec|execdir|ok|okdir|x|X)|--exec|--exec-batch)$/.test(text ?? '')) current = []
    } else if (text === ';' || text === '+') {
      commands.push(current)
      current = undefined
    } else current.push(text?.includes('{}') === true ? [unknownPiece(text)] : field)
  }
  if (current !== undefined) commands.push(current)
  return commands.filter((inner) => inner.length > 0)
}
