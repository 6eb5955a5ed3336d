/**
 * One connection to a host, shared by all conversations: a process of `ssh` that has authenticated serves a control socket,
 * and each command is a short-lived `ssh` that uses it. The process ends by itself when it was idle, so a gateway that is
 * killed leaves nothing behind for long. A connection that was lost is opened again by the next command.
 */
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HermesError, type RemoteClient, type RemoteExit, raceAbort } from '#sdk'
import { commandLine, masterLine, portableCommand, type SshLine } from './command-line.ts'
import { createSocketDirectory, isServed } from './control-socket.ts'
import { connectionFailure } from './failure.ts'
import { endConnection, runClient } from './run-client.ts'
import { nameOf, type SshTarget } from './target.ts'

/** Linux rejects a single argument of 128 KiB. */
const maxCommandBytes = 128_000

export interface SshConnectionOptions {
  readonly target: SshTarget
  /** See `socketPathOf`. */
  readonly socket: string
  /** The environment of `ssh`, which passes some of it to the host if the user's configuration says so. */
  readonly env: () => Readonly<Record<string, string>>
  /** `ssh`, with options that precede all others. */
  readonly program?: readonly string[]
  /** Seconds without an answer after which the host is asked; the third time without an answer ends the connection. */
  readonly aliveSeconds?: number
  readonly connectSeconds?: number
  /** Seconds that the connection stays open without a command. */
  readonly idleSeconds?: number
}

/** `stop` ends the connection of all users. */
export function createSshConnection(options: SshConnectionOptions): RemoteClient {
  const { target, socket, env, program = ['ssh'], aliveSeconds = 5, connectSeconds = 10, idleSeconds = 600 } = options
  const line: SshLine = { program, target, socket, aliveSeconds, connectSeconds }
  let opening: Promise<void> | undefined

  /** Rejects with `HermesError`. */
  async function open(): Promise<void> {
    if (await isServed(socket)) return
    await createSocketDirectory(dirname(socket))
    // The socket of a process that was killed; ssh would refuse to replace it.
    await rm(socket, { force: true })
    const { exitCode, messages } = await runClient(masterLine(line, idleSeconds), env(), {
      timeoutMs: (connectSeconds + 3 * aliveSeconds) * 1_000,
    })
    if (exitCode !== 0) throw connectionFailure(target, messages)
  }

  return {
    kind: 'ssh',

    async start(signal) {
      signal.throwIfAborted()
      // One caller that gives up must not end the attempt of the others.
      opening ??= open().finally(() => {
        opening = undefined
      })
      await raceAbort(opening, signal)
    },

    commandLine(script) {
      const command = portableCommand(script)
      const bytes = Buffer.byteLength(command)
      if (bytes > maxCommandBytes) {
        throw new HermesError(
          'terminal/cannot-start',
          `The command has ${bytes} bytes; the limit is ${maxCommandBytes}.`,
        )
      }
      return { argv: commandLine(line, command), env: env() }
    },

    describeFailure: (exit) => lostLink(target, exit),

    async stop() {
      await opening?.catch(() => undefined)
      if (!(await isServed(socket))) return
      await endConnection(line, env())
    },
  }
}

/** 255 is the status of `ssh` itself; the script reports its own in another way. */
function lostLink(target: SshTarget, { exitCode, signal, stderr }: RemoteExit): HermesError | undefined {
  if (signal === null && exitCode !== 255) return undefined
  const before = connectionFailure(target, stderr)
  if (before.code !== 'environment/unreachable') return before
  const said =
    stderr.trim() === ''
      ? ''
      : ` ssh says: ${stderr
          .trim()
          .split(/[\r\n]+/)
          .at(-1)}`
  return new HermesError('environment/lost', `The host is ${nameOf(target)}.${said}`)
}
