/**
 * Runs one command in another environment through its client program. The command is a process group of its own there, so that it
 * can be killed with its descendants: killing the client program alone would leave them running.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { HermesError, messageOf } from '../../../lib/errors.ts'
import { signalProcessGroup } from '../../../lib/process-group.ts'
import { sleep, withTimeout } from '../../../lib/timers.ts'
import type { RemoteClient, RemoteCommandLine, RemoteExit } from '../remote-client.ts'
import { buildScript, createInBandReader, createToken, encodeCommand, isWatched } from './in-band.ts'
import { encodeShellText } from './quote.ts'
import { exportLines } from './shell-script.ts'

/** How long to wait for output after the command has exited; another process may keep the stream open. */
const drainMs = 150
/** For a command line that kills: the environment may be slow, or gone. */
const killTimeoutMs = 10_000
const maxErrorBytes = 4_096

export interface RemoteCommand {
  readonly command: string
  readonly cwd: string
  readonly shell: 'user' | 'sh'
  readonly variables: Readonly<Record<string, string>>
  /** `open`: the command reads what is written to `stdin`. */
  readonly input: 'none' | 'open'
  onOutput(chunk: Buffer): void
}

/** `killed`: a signal ended it. `hasSurvivors`: a process that it started still holds its output. */
export type CommandExit =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly hasSurvivors: boolean }
  | { readonly kind: 'killed' }

export interface RemoteProcess {
  /** Resolves with the id of its group in the environment, before the command runs. Rejects when nothing ran. */
  readonly started: Promise<number>
  /** Rejects with `HermesError` when the connection is lost, or when nothing ran. */
  readonly exited: Promise<CommandExit>
  readonly stdin: Writable
  /** Kills the group in the environment, and then the client program. Never rejects. */
  kill(graceMs: number): Promise<void>
  /** Lets what still runs in the environment go on. Its output is lost. */
  detach(): void
}

/** The connection must be there (`client.start`). Throws `HermesError`. */
export function runRemoteCommand(client: RemoteClient, options: RemoteCommand): RemoteProcess {
  const { cwd, shell, input } = options
  if (options.command.includes('\0'))
    throw new HermesError('terminal/cannot-start', 'The command contains a NUL character.')
  const token = createToken()
  const script = buildScript({ cwd, shell, input: input === 'open' })
  const { child, stdin, stdout, stderr } = startClient(client.commandLine(script, { input: true }))
  stdin.write(`${token}\n`)
  const started = Promise.withResolvers<number>()
  const exited = Promise.withResolvers<CommandExit>()
  // A rejection may come before a caller waits.
  started.promise.catch(() => undefined)
  exited.promise.catch(() => undefined)
  let group: number | undefined
  let isKilled = false
  let hasExited = false
  const closed = new Promise<void>((resolve) => stdout.once('close', resolve))

  const fail = (error: HermesError) => {
    started.reject(error)
    exited.reject(error)
  }
  const reader = createInBandReader(
    token,
    (message) => {
      if (message.type === 'no-folder') return fail(new HermesError('terminal/no-folder', `It is ${cwd}.`))
      if (message.type === 'started') {
        group = message.group
        if (isKilled) return
        stdin.write(encodeCommand(encodeShellText([...exportLines(options.variables), options.command].join('\n'))))
        if (input === 'none' && !isWatched({ shell, input: false })) stdin.end()
        return started.resolve(message.group)
      }
      const { exitCode } = message
      hasExited = true
      void withTimeout(closed, client.endMs ?? drainMs).then(({ done }) =>
        exited.resolve({ kind: 'exited', exitCode, hasSurvivors: !done }),
      )
    },
    (chunk) => options.onOutput(chunk),
  )
  const read = (chunk: Buffer) => reader.add(chunk)
  stdout.on('data', read)
  stdout.once('close', () => reader.end())
  child.once('error', (error) => fail(new HermesError('environment/no-client', messageOf(error), { cause: error })))
  child.once('close', async (exitCode, signal) => {
    if (hasExited) return
    if (isKilled) return void exited.resolve({ kind: 'killed' })
    const error = await failureOf(client, { exitCode, signal, stderr: stderr() }, group !== undefined)
    if (error === undefined) exited.resolve({ kind: 'killed' })
    else fail(error)
  })

  return {
    started: started.promise,
    exited: exited.promise,
    stdin,
    async kill(graceMs) {
      isKilled = true
      if (group === undefined) stdin.end()
      else await killGroup(client, group, graceMs)
      if (isRunning(child)) await withTimeout(new Promise((resolve) => child.once('exit', resolve)), graceMs)
      stopClient(child)
      stdout.destroy()
      exited.resolve({ kind: 'killed' })
    },
    detach() {
      stdout.off('data', read)
      stdout.resume()
      child.unref()
    },
  }
}

/** Returns the failure that the end of a client program means. Undefined: a signal ended the command. */
async function failureOf(
  client: RemoteClient,
  exit: RemoteExit,
  hasStarted: boolean,
): Promise<HermesError | undefined> {
  const described = await client.describeFailure?.(exit)
  if (described !== undefined) return described
  const reason = exit.stderr.trim() || `${client.kind} ended with ${exit.signal ?? `code ${exit.exitCode}`}.`
  if (!hasStarted) return new HermesError('environment/unreachable', reason)
  return client.describeFailure === undefined ? new HermesError('environment/lost', reason) : undefined
}

interface ClientProcess {
  readonly child: ChildProcess
  readonly stdin: Writable
  readonly stdout: Readable
  /** The end of what it has written to stderr. */
  stderr(): string
}

function startClient({ argv: [program = '', ...args], env }: RemoteCommandLine): ClientProcess {
  const child = spawn(program, args, { env: { ...env }, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const { stdin, stdout, stderr } = child
  let errors = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-maxErrorBytes)
  })
  // The exit of the process is what counts.
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => stream.destroy())
  return { child, stdin, stdout, stderr: () => errors }
}

/** SIGTERM, and after `graceMs` SIGKILL, to a group in the environment. Resolves when that is done, or cannot be done. */
async function killGroup(client: RemoteClient, group: number, graceMs: number): Promise<void> {
  if (group <= 1) return
  const rounds = Math.ceil(graceMs / 100)
  const script = [
    `kill -TERM -${group} 2>/dev/null || exit 0`,
    `n=0; while [ $n -lt ${rounds} ] && kill -0 -${group} 2>/dev/null; do sleep 0.1 2>/dev/null || sleep 1; n=$((n+1)); done`,
    `kill -KILL -${group} 2>/dev/null`,
    'exit 0',
  ].join('\n')
  const { child, stdin } = startClient(client.commandLine(script, { input: false }))
  stdin.end()
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  const timer = new AbortController()
  await Promise.race([ended, sleep(graceMs + killTimeoutMs, timer.signal)])
  timer.abort()
  stopClient(child)
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

function stopClient(child: ChildProcess): void {
  if (child.pid !== undefined && isRunning(child)) signalProcessGroup(child.pid, 'SIGKILL')
}
