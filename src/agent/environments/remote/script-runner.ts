/**
 * Runs the scripts of the gateway in another environment: for its files and for searches.
 */
import { HermesError } from '../../../lib/errors.ts'
import { onAbort } from '../../../lib/timers.ts'
import type { RemoteCommand, RemoteProcess } from './run-remote-command.ts'

export type StartRemote = (command: RemoteCommand, signal: AbortSignal) => Promise<RemoteProcess>

/** Runs a script in the environment and resolves with what it writes to stdout. Rejects when it fails or when the signal aborts. */
export type RunScript = (script: string, options: ScriptRequest) => Promise<Buffer>

export interface ScriptRequest {
  readonly signal: AbortSignal
  /** Default: none. */
  readonly input?: string | Uint8Array
  /** Sees the output as it comes, instead of the result. */
  onOutput?(chunk: Buffer): void
  /** Ends the script without an error. */
  readonly stop?: AbortSignal
}

export function createScriptRunner(run: StartRemote, graceMs: number): RunScript {
  return async (script, { signal, input, onOutput, stop }) => {
    signal.throwIfAborted()
    const chunks: Buffer[] = []
    const remote = await run(
      {
        command: script,
        cwd: '/',
        shell: 'sh',
        variables: {},
        input: input === undefined ? 'none' : 'open',
        onOutput: onOutput ?? ((chunk) => chunks.push(chunk)),
      },
      signal,
    )
    const kill = () => void remote.kill(graceMs)
    const listeners = [signal, ...(stop === undefined ? [] : [stop])].map((each) => onAbort(each, kill))
    try {
      if (input !== undefined) void remote.started.then(() => remote.stdin.end(input), ignore)
      const exit = await remote.exited
      signal.throwIfAborted()
      if (stop?.aborted === true || (exit.kind === 'exited' && exit.exitCode === 0)) return Buffer.concat(chunks)
      const how = exit.kind === 'killed' ? 'a signal' : `code ${exit.exitCode}`
      throw new HermesError('environment/lost', `A script for files ended with ${how}.`)
    } finally {
      for (const removeListener of listeners) removeListener()
    }
  }
}

const ignore = () => undefined
