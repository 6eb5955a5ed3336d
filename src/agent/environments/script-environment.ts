/**
 * An environment in a place that runs short scripts and returns their output, as the HTTP APIs of sandboxes do.
 *
 * A command is started in the background there, with files for its output and its exit code. Then scripts ask for them, each
 * for some seconds, so that no request has to last as long as a command. Every script may be sent twice: a command whose
 * start was answered by nothing is not started again.
 */
import { randomBytes } from 'node:crypto'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { sleep } from '../../lib/timers.ts'
import type { Environment, ExecuteOptions, ExecuteResult } from './environment.ts'
import { quotePath, quoteWord, resolvePlacePath } from './remote/quote.ts'

export interface ScriptEnvironmentOptions {
  /** The name of the kind. */
  readonly kind: string
  /** Absolute, `~` or below `~`. */
  readonly cwd: string
  /** Of every command. */
  readonly variables?: Readonly<Record<string, string>>
  /** Default: true. See `Environment`. */
  readonly isContainer?: boolean
  /** Prepares the place unless it is ready; called before each command. Concurrent calls must share one attempt. */
  start(signal: AbortSignal): Promise<void>
  /**
   * Runs a script of at most 100 kB with `sh` in the place, and resolves with what it writes to stdout. It takes at most 20 s.
   * Rejects when the place did not answer; the script is then sent again.
   */
  runScript(script: string, signal: AbortSignal): Promise<string>
  /** Ends the place, or lets it sleep. Called when the conversation ends. */
  stop(): Promise<void>
  /** Waits between two attempts. Default: from 0.5 s, doubled each time. */
  readonly retryMs?: readonly number[]
}

const chunkBytes = 60_000
const maxCommandBytes = 4_000_000
const graceMs = 500
const killTimeoutMs = 20_000

/** The place needs a POSIX shell, and cat, mkdir, mv, rm, sleep, wc, head, tail and base64. */
export function createScriptEnvironment(options: ScriptEnvironmentOptions): Environment {
  const { kind, cwd, isContainer = true, retryMs = [500, 1_000, 2_000] } = options
  const running = new Set<() => Promise<void>>()

  /** Rejects with `environment/lost` when the place does not answer. */
  async function send(script: string, signal: AbortSignal): Promise<string> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await options.runScript(script, signal)
      } catch (error) {
        signal.throwIfAborted()
        const delay = retryMs[attempt]
        if (delay !== undefined && !isHermesError(error)) await sleep(delay, signal)
        else throw isHermesError(error) ? error : new HermesError('environment/lost', messageOf(error), { cause: error })
      }
    }
  }

  async function finish(command: PlacedCommand, maxBytes: number): Promise<string> {
    const signal = AbortSignal.timeout(killTimeoutMs)
    const reply = await send(killScript(command), signal).then(() => send(reportScript(command, 0, maxBytes), signal))
    return outputOf(parseReport(reply, command), maxBytes)
  }

  async function execute(text: string, request: ExecuteOptions): Promise<ExecuteResult> {
    const { signal, timeoutMs, maxOutputBytes } = request
    const command: PlacedCommand = { token: randomBytes(12).toString('hex') }
    const deadline = performance.now() + timeoutMs
    const kill = async () => void (await send(killScript(command), AbortSignal.timeout(killTimeoutMs)).catch(ignore))
    running.add(kill)
    try {
      for (const script of uploadScripts(command, text)) await send(script, signal)
      const directory = resolvePlacePath(request.cwd ?? cwd, cwd)
      const start = startScript(command, directory, { ...options.variables, ...request.variables })
      let report = parseReport(await send(`${start}\n${reportScript(command, 1, maxOutputBytes)}`, signal), command)
      if (report.state === 'no-folder') throw new HermesError('terminal/no-folder', `It is ${directory}.`)
      while (report.state === 'running') {
        const left = Math.ceil((deadline - performance.now()) / 1_000)
        if (left <= 0) {
          return { output: await finish(command, maxOutputBytes), exitCode: null, timedOut: true, aborted: false }
        }
        const wait = Math.min(left, 15)
        report = parseReport(await send(reportScript(command, wait, maxOutputBytes), signal), command)
      }
      const exitCode = report.state === 'killed' ? null : Number(report.state)
      return { output: outputOf(report, maxOutputBytes), exitCode, timedOut: false, aborted: false }
    } catch (error) {
      if (!signal.aborted) throw error
      const output = await finish(command, maxOutputBytes).catch(() => '')
      return { output, exitCode: null, timedOut: false, aborted: true }
    } finally {
      running.delete(kill)
      void send(removeScript(command), AbortSignal.timeout(killTimeoutMs)).catch(ignore)
    }
  }

  return {
    kind,
    cwd,
    isContainer,
    start: (signal) => options.start(signal),
    async execute(text, request) {
      if (request.signal.aborted) return { output: '', exitCode: null, timedOut: false, aborted: true }
      if (text.includes('\0')) throw new HermesError('terminal/cannot-start', 'The command contains a NUL character.')
      const bytes = Buffer.byteLength(text)
      if (bytes > maxCommandBytes) {
        throw new HermesError('terminal/cannot-start', `It has ${bytes} bytes; the limit is ${maxCommandBytes}.`)
      }
      await options.start(request.signal)
      return await execute(text, request)
    },
    async cleanup() {
      await Promise.all([...running].map((kill) => kill()))
      await options.stop()
    },
  }
}

const ignore = () => undefined

interface PlacedCommand {
  readonly token: string
}

const directoryOf = ({ token }: PlacedCommand) => `d=/tmp/.hermes-${token}\numask 077`

function uploadScripts(command: PlacedCommand, text: string): string[] {
  const bytes = Buffer.from(text)
  const count = Math.max(1, Math.ceil(bytes.length / chunkBytes))
  return Array.from({ length: count }, (_, index) => {
    const part = bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes).toString('base64')
    const name = String(index).padStart(4, '0')
    return `${directoryOf(command)}\nmkdir -p "$d" && printf %s '${part}' | base64 -d >"$d/part.${name}"`
  })
}

/** Starts the command, unless an earlier attempt has started it. */
function startScript(command: PlacedCommand, directory: string, variables: Readonly<Record<string, string>>): string {
  const exports = Object.entries(variables)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .map(([name, value]) => `export ${name}=${quoteWord(value)}`)
  return [
    directoryOf(command),
    `cd -- ${quotePath(directory)} 2>/dev/null || { echo 'hermes-${command.token} no-folder 0'; exit 0; }`,
    'if mkdir "$d/run" 2>/dev/null; then',
    'cat "$d"/part.* >"$d/command"',
    ...exports,
    'x=sh; command -v bash >/dev/null 2>&1 && x=bash',
    's=; command -v setsid >/dev/null 2>&1 && s=setsid',
    'umask 022',
    `( trap '' HUP; $s sh -c 'echo $$ >"$1/pid"; "$2" "$1/command"; echo $? >"$1/exit.tmp"; mv "$1/exit.tmp" "$1/exit"' sh "$d" "$x" </dev/null >"$d/out" 2>&1 & )`,
    'fi',
  ].join('\n')
}

/** Waits for the exit, at most so many seconds, and prints the state, the length of the output and, after the exit, its ends. */
function reportScript(command: PlacedCommand, seconds: number, maxBytes: number): string {
  const half = Math.ceil(maxBytes / 2)
  return [
    directoryOf(command),
    'gone() { p=$(cat "$d/pid" 2>/dev/null) && [ -n "$p" ] && ! kill -0 "$p" 2>/dev/null && [ ! -e "$d/exit" ]; }',
    `n=0; while [ ! -e "$d/exit" ] && [ $n -lt ${seconds * 20} ]; do gone && break; sleep 0.05 2>/dev/null || { sleep 1; n=$((n+19)); }; n=$((n+1)); done`,
    'e=running; gone && e=killed; [ -e "$d/exit" ] && e=$(cat "$d/exit")',
    'z=$(($(wc -c <"$d/out")))',
    `echo "hermes-${command.token} $e $z"`,
    `${seconds === 0 ? '' : '[ "$e" = running ] || '}if [ $z -le ${maxBytes} ]; then base64 <"$d/out"; else head -c ${half} "$d/out" | base64; echo =; tail -c ${half} "$d/out" | base64; fi`,
  ].join('\n')
}

function killScript(command: PlacedCommand): string {
  const rounds = graceMs / 50
  return [
    directoryOf(command),
    // A start that is still on its way then starts nothing.
    'mkdir -p "$d"; mkdir "$d/run" 2>/dev/null && exit 0',
    'n=0; while [ ! -s "$d/pid" ] && [ $n -lt 20 ]; do sleep 0.05 2>/dev/null || sleep 1; n=$((n+1)); done',
    'p=$(cat "$d/pid" 2>/dev/null) || exit 0',
    'kill -TERM -- "-$p" 2>/dev/null || kill -TERM "$p" 2>/dev/null || exit 0',
    `n=0; while [ $n -lt ${rounds} ] && kill -0 -- "-$p" 2>/dev/null; do sleep 0.05 2>/dev/null || sleep 1; n=$((n+1)); done`,
    'kill -KILL -- "-$p" 2>/dev/null || kill -KILL "$p" 2>/dev/null',
    'exit 0',
  ].join('\n')
}

const removeScript = (command: PlacedCommand) => `${directoryOf(command)}\nrm -rf "$d"`

interface Report {
  /** An exit code, or `running`, `killed`, `no-folder`. */
  readonly state: string
  readonly bytes: number
  /** The output, or its beginning and its end. */
  readonly parts: readonly Buffer[]
}

/** Throws `environment/lost` if the script did not say what it must. */
function parseReport(reply: string, { token }: PlacedCommand): Report {
  const found = new RegExp(`hermes-${token} (\\w+|no-folder) (\\d+)\\s*([A-Za-z0-9+/=\\s]*)`).exec(reply)
  const [, state, bytes, body = ''] = found ?? []
  if (state === undefined) throw new HermesError('environment/lost', `The place answered: ${reply.slice(-300)}`)
  const parts = body.split(/^=$/m).map((part) => Buffer.from(part, 'base64'))
  return { state, bytes: Number(bytes), parts }
}

function outputOf({ bytes, parts }: Report, maxBytes: number): string {
  const texts = parts.map((part) => part.toString('utf8').replaceAll('\0', '\u2400'))
  return texts.join(`\n[${bytes - maxBytes} bytes are left out]\n`)
}
