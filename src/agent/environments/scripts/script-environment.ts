/**
 * An environment that runs short scripts and returns their output, as the HTTP APIs of sandboxes do: for plugins,
 * which write the transport alone. No request has to last as long as a command.
 */
import { Writable } from 'node:stream'
import { HermesError, isHermesError, messageOf } from '../../../lib/errors.ts'
import { sleep } from '../../../lib/timers.ts'
import type { RemoteFileGuard } from '../../command-policy/file-guard.ts'
import type { Environment, ExecuteOptions, ExecuteResult } from '../environment.ts'
import { resolveRemotePath } from '../remote/quote.ts'
import { createRemoteFiles } from '../remote/remote-files.ts'
import type { CommandExit, RemoteCommand, RemoteProcess } from '../remote/run-remote-command.ts'
import { type CommandReport, createScriptCommand, type ScriptCommand, type SendScript } from './script-command.ts'

export interface ScriptEnvironmentOptions {
  /** The name of the kind. */
  readonly kind: string
  /** Absolute, `~` or below `~`. */
  readonly cwd: string
  /** The variables of every command. */
  readonly variables?: Readonly<Record<string, string>>
  /** Default: true. See `Environment`. */
  readonly isContainer?: boolean
  /** Prepares the environment unless it is ready; called before each command. Concurrent calls must share one attempt. */
  start(signal: AbortSignal): Promise<void>
  /**
   * Runs a script of at most 64 kB with `sh` in the environment, and resolves with what it writes to stdout. It takes at most 20 s.
   * Rejects when the environment did not answer; the script is then sent again, except after a `HermesError`.
   */
  runScript(script: string, signal: AbortSignal): Promise<string>
  /** Ends the environment, or lets it sleep. Called when the conversation ends. */
  stop(): Promise<void>
  /** Waits between two attempts. Default: 500, 1,000 and 2,000. */
  readonly retryMs?: readonly number[]
}

const maxCommandBytes = 4_000_000
const graceMs = 500
const killTimeoutMs = 20_000
const waitSeconds = 15

/**
 * The environment needs a POSIX shell, and the small programs of coreutils or busybox. Commands in the background are not
 * available. `denial`: see `RemoteEnvironmentOptions`.
 */
export function createScriptEnvironment(options: ScriptEnvironmentOptions, denial?: RemoteFileGuard): Environment {
  const { kind, cwd, isContainer = true } = options
  const send = retrying(options)
  const running = new Set<ScriptCommand>()

  /** Starts a command and reports until it ends. `finally` removes its files. */
  async function createCommand(request: Omit<RemoteCommand, 'onOutput' | 'input'> & { readonly input?: Uint8Array }) {
    const bytes = Buffer.byteLength(request.command)
    if (request.command.includes('\0')) throw new HermesError('terminal/cannot-start', 'It contains a NUL character.')
    if (bytes > maxCommandBytes) {
      throw new HermesError('terminal/cannot-start', `It has ${bytes} bytes; the limit is ${maxCommandBytes}.`)
    }
    const command = createScriptCommand(send, { ...request, cwd: resolveRemotePath(request.cwd, cwd) })
    running.add(command)
    return command
  }
  const forget = (command: ScriptCommand) => {
    running.delete(command)
    // What stays behind is a directory in /tmp of the environment.
    command.remove(AbortSignal.timeout(killTimeoutMs)).catch(() => undefined)
  }

  async function execute(text: string, request: ExecuteOptions): Promise<ExecuteResult> {
    const { signal, timeoutMs, maxOutputBytes } = request
    const deadline = performance.now() + timeoutMs
    const variables = { ...options.variables, ...request.variables }
    const command = await createCommand({ command: text, cwd: request.cwd ?? cwd, shell: 'user', variables })
    try {
      let report = await command.start(signal)
      while (report.state === 'running') {
        const left = Math.ceil((deadline - performance.now()) / 1_000)
        if (left <= 0) return { ...(await endCommand(command, maxOutputBytes)), timedOut: true, aborted: false }
        report = await command.wait(Math.min(left, waitSeconds), signal)
      }
      const output = await outputOf(command, report, maxOutputBytes, signal)
      return { output, exitCode: report.state === 'exited' ? report.exitCode : null, timedOut: false, aborted: false }
    } catch (error) {
      if (!signal.aborted) throw error
      return { ...(await endCommand(command, maxOutputBytes)), timedOut: false, aborted: true }
    } finally {
      forget(command)
    }
  }

  return {
    kind,
    cwd,
    isContainer,
    files: createRemoteFiles({
      cwd,
      graceMs,
      denial,
      async run(request, signal) {
        await options.start(signal)
        return await runForFiles(request, { createCommand, forget, signal })
      },
    }),
    start: (signal) => options.start(signal),
    async execute(text, request) {
      const aborted = { output: '', exitCode: null, timedOut: false, aborted: true }
      if (request.signal.aborted) return aborted
      try {
        await options.start(request.signal)
      } catch (error) {
        if (request.signal.aborted) return aborted
        throw error
      }
      return await execute(text, request)
    },
    async cleanup() {
      const signal = AbortSignal.timeout(killTimeoutMs)
      await Promise.allSettled([...running].map((command) => command.kill(graceMs, signal)))
      await options.stop()
    },
  }
}

/** Rejects with `environment/lost` when the environment does not answer. */
function retrying({ runScript, retryMs = [500, 1_000, 2_000] }: ScriptEnvironmentOptions): SendScript {
  return async (script, signal) => {
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted()
      try {
        return await runScript(script, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (isHermesError(error)) throw error
        const delay = retryMs[attempt]
        if (delay === undefined) throw new HermesError('environment/lost', messageOf(error), { cause: error })
        await sleep(delay, signal)
      }
    }
  }
}

async function outputOf(
  command: ScriptCommand,
  { bytes, head }: CommandReport,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  if (bytes <= maxBytes) {
    const rest = bytes > head.length ? await command.read(head.length, bytes - head.length, signal) : Buffer.alloc(0)
    return textOf(Buffer.concat([head, rest]))
  }
  const half = Math.ceil(maxBytes / 2)
  const first = half <= head.length ? head.subarray(0, half) : await command.read(0, half, signal)
  const last = await command.read(bytes - half, half, signal)
  return `${textOf(first)}\n[${bytes - 2 * half} bytes are left out]\n${textOf(last)}`
}

const textOf = (bytes: Buffer) => bytes.toString('utf8').replaceAll('\0', '\u2400')

/** Kills a command and collects what it has written. What cannot be reached any more has no output. */
async function endCommand(command: ScriptCommand, maxBytes: number): Promise<{ output: string; exitCode: null }> {
  const signal = AbortSignal.timeout(killTimeoutMs)
  try {
    await command.kill(graceMs, signal)
    const report = await command.wait(0, signal)
    return { output: await outputOf(command, report, maxBytes, signal), exitCode: null }
  } catch (error) {
    return { output: `\n[${messageOf(error)}]\n`, exitCode: null }
  }
}

interface FileRun {
  createCommand(
    request: Omit<RemoteCommand, 'onOutput' | 'input'> & { readonly input?: Uint8Array },
  ): Promise<ScriptCommand>
  forget(command: ScriptCommand): void
  readonly signal: AbortSignal
}

/** A script of the file tools. What it reads from stdin is sent when that is complete. */
async function runForFiles(request: RemoteCommand, { createCommand, forget, signal }: FileRun): Promise<RemoteProcess> {
  const killed = new AbortController()
  const chunks: Buffer[] = []
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  const ready = new Promise<void>((resolve) => stdin.once('close', resolve))
  if (request.input === 'none') stdin.destroy()

  async function run(): Promise<CommandExit> {
    await ready
    const both = AbortSignal.any([signal, killed.signal])
    const command = await createCommand({ ...request, input: Buffer.concat(chunks) })
    try {
      let report = await command.start(both)
      while (report.state === 'running') report = await command.wait(waitSeconds, both)
      request.onOutput(report.head)
      const rest = report.bytes - report.head.length
      if (rest > 0) request.onOutput(await command.read(report.head.length, rest, both))
      if (report.state === 'killed') return { kind: 'killed' }
      return { kind: 'exited', exitCode: report.exitCode, hasSurvivors: false }
    } catch (error) {
      if (!both.aborted) throw error
      await command.kill(graceMs, AbortSignal.timeout(killTimeoutMs)).catch(() => undefined)
      return { kind: 'killed' }
    } finally {
      forget(command)
    }
  }

  const exited = run()
  exited.catch(() => undefined)
  return {
    started: Promise.resolve(0),
    exited,
    stdin,
    async kill() {
      killed.abort()
      stdin.destroy()
      await exited.catch(() => undefined)
    },
    detach: () => undefined,
  }
}
