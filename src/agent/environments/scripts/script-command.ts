/**
 * A command in an environment that runs short scripts: it is started in the background there, with files for its output and its exit
 * code, and later scripts ask for them. Every script may arrive twice: the command is started once.
 */
import { randomBytes } from 'node:crypto'
import { HermesError } from '../../../lib/errors.ts'
import { quotePath } from '../remote/quote.ts'
import { chooseShell, exportLines } from '../remote/shell-script.ts'

/** Runs a script with sh in the environment, and resolves with its output. */
export type SendScript = (script: string, signal: AbortSignal) => Promise<string>

export interface ScriptCommandOptions {
  readonly command: string
  /** In the environment. It may begin with `~`. */
  readonly cwd: string
  /** `user`: bash if it is there. */
  readonly shell: 'user' | 'sh'
  readonly variables: Readonly<Record<string, string>>
  /** Default: an empty stdin. */
  readonly input?: Uint8Array
}

export interface CommandReport {
  readonly state: 'running' | 'exited' | 'killed'
  /** The exit code of an `exited` command. */
  readonly exitCode: number
  /** The length of the output. */
  readonly bytes: number
  /** After the exit: the first 48 kB of the output. */
  readonly head: Buffer
}

export interface ScriptCommand {
  /** Rejects with `HermesError` when nothing was started. */
  start(signal: AbortSignal): Promise<CommandReport>
  /** Waits for the exit, at most so many seconds. */
  wait(seconds: number, signal: AbortSignal): Promise<CommandReport>
  /** A part of the output. */
  read(offset: number, length: number, signal: AbortSignal): Promise<Buffer>
  /** Kills the command even while its start is still on its way. */
  kill(graceMs: number, signal: AbortSignal): Promise<void>
  /** Removes its files. */
  remove(signal: AbortSignal): Promise<void>
}

/** A script is one argument of a program in the environment, which has less than 128 KiB, and base64 adds a third. */
const partBytes = 45_000
const headBytes = 48_000
const readBytes = 480_000

/** Needed in the environment: cat, mkdir, mv, rm, sleep, wc, head, tail and base64. */
export function createScriptCommand(send: SendScript, options: ScriptCommandOptions): ScriptCommand {
  const token = randomBytes(12).toString('hex')
  const preamble = `d=/tmp/.hermes-${token}\numask 077`
  const ask = async (script: string, signal: AbortSignal) => {
    const reply = await send(`${preamble}\n${script}`, signal)
    const start = reply.indexOf(`${token}:`)
    if (start === -1) throw new HermesError('environment/lost', `The environment answered: ${reply.slice(-300)}`)
    const [line = '', ...body] = reply.slice(start + token.length + 1).split('\n')
    return { words: line.trim().split(' '), body: Buffer.from(body.join(''), 'base64') }
  }
  const report = async (script: string, signal: AbortSignal): Promise<CommandReport> => {
    const { words, body } = await ask(script, signal)
    const [state = '', bytes] = words
    if (state === 'no-folder') throw new HermesError('terminal/no-folder', `It is ${options.cwd}.`)
    const isKnown = state === 'running' || state === 'killed'
    return { state: isKnown ? state : 'exited', exitCode: Number(state), bytes: Number(bytes), head: body }
  }

  return {
    async start(signal) {
      for (const script of uploadScripts('command', Buffer.from(options.command))) await ask(script(token), signal)
      for (const script of uploadScripts('input', options.input ?? new Uint8Array())) await ask(script(token), signal)
      return await report(`${startScript(token, options)}\n${reportScript(token, 1)}`, signal)
    },
    wait: (seconds, signal) => report(reportScript(token, seconds), signal),
    async read(offset, length, signal) {
      const chunks: Buffer[] = []
      for (let done = 0; done < length; done += readBytes) {
        const size = Math.min(readBytes, length - done)
        const script = `echo ${token}:\ntail -c +${offset + done + 1} "$d/out" | head -c ${size} | base64`
        chunks.push((await ask(script, signal)).body)
      }
      return Buffer.concat(chunks)
    },
    kill: async (graceMs, signal) => void (await ask(killScript(token, graceMs), signal)),
    remove: async (signal) => void (await ask(`rm -rf "$d"; echo ${token}:`, signal)),
  }
}

function uploadScripts(name: string, bytes: Uint8Array): ((token: string) => string)[] {
  return Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, index) => {
    const part = Buffer.from(bytes.subarray(index * partBytes, (index + 1) * partBytes)).toString('base64')
    const file = `$d/${name}.${String(index).padStart(5, '0')}`
    return (token) => `mkdir -p "$d" && printf %s '${part}' | base64 -d >"${file}" && echo ${token}:`
  })
}

/** Starts the command, unless an earlier attempt has started it. */
function startScript(token: string, { cwd, shell, variables, input }: ScriptCommandOptions): string {
  const run = '"$2" "$1/all.command" <"$3"; echo $? >"$1/exit.tmp"; mv "$1/exit.tmp" "$1/exit"'
  return [
    `cd -- ${quotePath(cwd)} 2>/dev/null || { echo '${token}:no-folder 0'; exit 0; }`,
    'if mkdir "$d/run" 2>/dev/null; then',
    'cat "$d"/command.* >"$d/all.command"',
    ...(input === undefined || input.length === 0 ? ['i=/dev/null'] : ['i=$d/all.input; cat "$d"/input.* >"$i"']),
    ...exportLines(variables),
    chooseShell(shell),
    's=; command -v setsid >/dev/null 2>&1 && s=setsid',
    'umask 022',
    `( trap '' HUP; $s sh -c 'echo $$ >"$1/pid"; ${run}' sh "$d" "$x" "$i" </dev/null >"$d/out" 2>&1 & )`,
    'fi',
  ].join('\n')
}

const nap = (skipped: number) => `sleep 0.05 2>/dev/null || { sleep 1; n=$((n+${skipped})); }; n=$((n+1))`

function reportScript(token: string, seconds: number): string {
  return [
    'gone() { p=$(cat "$d/pid" 2>/dev/null) && [ -n "$p" ] && ! kill -0 "$p" 2>/dev/null && [ ! -e "$d/exit" ]; }',
    `n=0; while [ ! -e "$d/exit" ] && [ $n -lt ${seconds * 20} ]; do gone && break; ${nap(19)}; done`,
    'e=running; gone && e=killed; [ -e "$d/exit" ] && e=$(cat "$d/exit")',
    `echo "${token}:$e $(($(wc -c <"$d/out")))"`,
    `[ "$e" = running ] || head -c ${headBytes} "$d/out" | base64`,
  ].join('\n')
}

function killScript(token: string, graceMs: number): string {
  const done = `{ echo ${token}:; exit 0; }`
  return [
    'mkdir -p "$d"; : >>"$d/out"',
    `mkdir "$d/run" 2>/dev/null && ${done}`,
    `n=0; while [ ! -s "$d/pid" ] && [ $n -lt 20 ]; do ${nap(19)}; done`,
    `p=$(cat "$d/pid" 2>/dev/null) || ${done}`,
    'signal() { kill "-$1" "-$p" 2>/dev/null || kill "-$1" "$p" 2>/dev/null; }',
    `signal TERM || ${done}`,
    `n=0; while [ $n -lt ${Math.ceil(graceMs / 50)} ] && signal 0; do ${nap(19)}; done`,
    `signal KILL; echo ${token}:`,
  ].join('\n')
}
