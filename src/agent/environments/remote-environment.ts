/**
 * An environment that a client program reaches: commands and files, over the shell at its other end.
 */
import { StringDecoder } from 'node:string_decoder'
import { messageOf } from '../../lib/errors.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { RemoteFileGuard } from '../command-policy/file-guard.ts'
import type { BackgroundCommand, Environment, ExecuteOptions, ExecuteResult, SpawnOptions } from './environment.ts'
import { createOutputBuffer } from './output-buffer.ts'
import { resolveRemotePath } from './remote/quote.ts'
import { createRemoteFiles } from './remote/remote-files.ts'
import { type RemoteCommand, type RemoteProcess, runRemoteCommand } from './remote/run-remote-command.ts'
import type { RemoteClient } from './remote-client.ts'

export interface RemoteEnvironmentOptions {
  readonly client: RemoteClient
  /** The working directory there: absolute, `~` or below `~`. */
  readonly cwd: string
  /** The variables that commands receive in addition to those of the environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** See `Environment`. */
  readonly isContainer?: boolean
  /** Whether the rules of the gateway for files hold there, as for keys and credentials. Default: unless it is a container. */
  readonly guardsFiles?: boolean
  /** Makes files of the conversation visible there before a command that may read them. Rejects when that fails. */
  expose?(paths: readonly string[]): Promise<void>
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs?: number
}

/**
 * Nothing is reached before the first command or file.
 * @param denial why the file tools may not read or write a file there
 */
export function createRemoteEnvironment(options: RemoteEnvironmentOptions, denial?: RemoteFileGuard): Environment {
  const { client, cwd, variables = {}, isContainer, graceMs = 500 } = options
  /** What cleanup must kill. */
  const running = new Set<RemoteProcess>()

  const run = async (
    command: Omit<RemoteCommand, 'cwd'> & { readonly cwd?: string | undefined },
    signal: AbortSignal,
  ) => {
    await client.start(signal)
    const remote = runRemoteCommand(client, { ...command, cwd: resolveRemotePath(command.cwd ?? cwd, cwd) })
    running.add(remote)
    remote.exited.then(
      (exit) => {
        if (exit.kind === 'killed' || !exit.hasSurvivors) running.delete(remote)
      },
      () => running.delete(remote),
    )
    return remote
  }
  const commandOf = (command: string, { cwd: directory, variables: more }: SpawnOptions) => ({
    command,
    shell: 'user' as const,
    variables: { ...variables, ...more },
    cwd: directory,
  })

  return {
    kind: client.kind,
    cwd,
    isContainer,
    files: createRemoteFiles({ cwd, graceMs, run, denial }),
    start: (signal) => client.start(signal),

    async execute(command, { timeoutMs, signal, maxOutputBytes, ...how }) {
      if (signal.aborted) return abortedResult
      const output = createOutputBuffer(maxOutputBytes)
      let remote: RemoteProcess
      try {
        await options.expose?.(how.exposed ?? [])
        const request = { ...commandOf(command, how), input: 'none' as const }
        remote = await run({ ...request, onOutput: (chunk) => output.add(chunk) }, signal)
      } catch (error) {
        if (signal.aborted) return abortedResult
        throw error
      }
      return await waitForEnd(remote, { timeoutMs, signal, graceMs }, () => output.text())
    },

    async spawn(command, how) {
      await options.expose?.(how.exposed ?? [])
      const output = createOutputEmitter()
      const signal = new AbortController().signal
      const request = { ...commandOf(command, how), input: 'open' as const, onOutput: output.add }
      const remote = await run(request, signal)
      const pid = await remote.started
      return createRemoteBackgroundCommand({ remote, pid, output, graceMs })
    },

    async cleanup() {
      const all = [...running]
      running.clear()
      await Promise.all(all.map((remote) => remote.kill(graceMs)))
      await client.stop()
    },
  }
}

const abortedResult: ExecuteResult = { output: '', exitCode: null, timedOut: false, aborted: true }

const survivorNote = '\n[a process that this command started is still running; its further output is lost]\n'

async function waitForEnd(
  remote: RemoteProcess,
  { timeoutMs, signal, graceMs }: Pick<ExecuteOptions, 'timeoutMs' | 'signal'> & { readonly graceMs: number },
  output: () => string,
): Promise<ExecuteResult> {
  const result = await withTimeout(remote.exited, timeoutMs, signal)
  if (!result.done) {
    const aborted = signal.aborted
    await remote.kill(graceMs)
    return { output: output(), exitCode: null, timedOut: !aborted, aborted }
  }
  const exit = result.value
  if (exit.kind === 'killed') return { output: output(), exitCode: null, timedOut: false, aborted: false }
  if (exit.hasSurvivors) remote.detach()
  const note = exit.hasSurvivors ? survivorNote : ''
  return { output: output() + note, exitCode: exit.exitCode, timedOut: false, aborted: false }
}

/** Keeps what comes before there is a listener. */
function createOutputEmitter() {
  const decoder = new StringDecoder('utf8')
  const listeners = new Set<(text: string) => void>()
  let early = ''
  const emit = (text: string) => {
    if (text === '') return
    if (listeners.size === 0) early += text
    for (const listener of listeners) listener(text)
  }
  return {
    add: (chunk: Buffer) => emit(decoder.write(chunk).replaceAll('\0', '\u2400')),
    emit,
    end: () => emit(decoder.end()),
    listen(listener: (text: string) => void) {
      listeners.add(listener)
      if (early !== '') listener(early)
      early = ''
    },
  }
}

interface BackgroundOptions {
  readonly remote: RemoteProcess
  readonly pid: number
  readonly output: ReturnType<typeof createOutputEmitter>
  readonly graceMs: number
}

function createRemoteBackgroundCommand({ remote, pid, output, graceMs }: BackgroundOptions): BackgroundCommand {
  let hasExited = false
  const end = (exitCode: number | null) => {
    hasExited = true
    output.end()
    remote.stdin.destroy()
    return { exitCode }
  }
  const exited = remote.exited.then(
    (exit) => end(exit.kind === 'exited' ? exit.exitCode : null),
    (error: unknown) => {
      output.emit(`\n[${messageOf(error)}]\n`)
      return end(null)
    },
  )
  return {
    pid,
    exited,
    onOutput: output.listen,
    write(text) {
      if (hasExited || !remote.stdin.writable) return false
      remote.stdin.write(text)
      return true
    },
    kill() {
      if (!hasExited) void remote.kill(graceMs)
    },
  }
}
