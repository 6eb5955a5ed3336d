/**
 * What commands in the sandbox reach of the gateway: the proxy for hosts, and the `hermes` that speaks for the person whose turn runs
 * them. Each turn has a random token, which only the environment of its commands contains, and which is worthless when the turn ends.
 * Loaded when the first command needs it.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import { type CommandOutput, createTurnSocket } from '../../agent/sandbox/turn-socket.ts'
import type { Logger } from '../../lib/log.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import { listenOnUnixSocket } from '../../lib/unix-socket.ts'
import type { Authority } from '../../message/authority.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { Turn } from '../../sessions/turn.ts'

/** A plugin outside of turns has no event. */
type SandboxedTurn = Pick<Turn, 'authority'> & Partial<Pick<Turn, 'seq' | 'sessionKey' | 'event'>>

/** @param turns without them, the `hermes` of commands refuses everything */
export function createSandboxSockets(settings: () => Pick<AgentConfig, 'terminal'>, log: Logger, turns?: CallingTurns) {
  let closeProxy: Promise<() => void> | undefined
  let turnAccess: TurnAccess | undefined
  return {
    /** Rejects with a system error. */
    async openProxy(directory: string): Promise<void> {
      closeProxy ??= import('./sandbox-proxy.ts').then(({ openSandboxProxy }) =>
        openSandboxProxy(directory, settings, log),
      )
      try {
        await closeProxy
      } catch (error) {
        closeProxy = undefined
        throw error
      }
    },
    /** What the commands of a turn need to call `hermes` in a sandbox. */
    async variablesOf({ seq, sessionKey, event, authority }: SandboxedTurn, { kind, binDirectory }: Sandbox) {
      const directory = kind === 'none' ? undefined : binDirectory
      if (turns === undefined || directory === undefined) return {}
      if (seq === undefined || sessionKey === undefined || event === undefined) return {}
      turnAccess ??= createTurnAccess(directory, turns, log)
      return turnAccess.variablesOf({ seq, sessionKey, source: event.source, authority }, kind !== 'landlock')
    },
    async close() {
      await turnAccess?.close()
      // The log says why it could not listen.
      const close = await closeProxy?.catch(() => undefined)
      close?.()
    },
  }
}

/** The turn that runs a command. */
export interface CommandTurn {
  /** The number of the event that the turn handles. */
  readonly seq: number
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly authority: Authority
}

export type RunAgentCommand = (
  turn: CommandTurn,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<CommandOutput>

/** The turns whose commands may call `hermes`. */
export interface CallingTurns {
  readonly secrets: Pick<SecretRegistry, 'setShortLived'>
  /** Resolves when the turn ends; undefined when it is not running. */
  ended(seq: number): Promise<void> | undefined
  readonly run: RunAgentCommand
}

interface TurnAccess {
  /**
   * The variables for a command of this turn; none when the turn is not running, or without a socket. `hasUnixSockets`: false for a
   * command that reaches a port of 127.0.0.1 only. Never rejects.
   */
  variablesOf(turn: CommandTurn, hasUnixSockets: boolean): Promise<Readonly<Record<string, string>>>
  /** Closes the sockets and removes that of the directory. */
  close(): Promise<void>
}

interface Listening {
  close(): void
  readonly variables: Readonly<Record<string, string>>
}

/** Tokens that are taken out of texts. Tokens of past turns are worthless, so that few suffice. */
const maxKnownTokens = 64

/** @param directory a private one, which commands see */
export function createTurnAccess(directory: string, { secrets, ended, run }: CallingTurns, log: Logger): TurnAccess {
  const turns = new Map<string, CommandTurn>()
  const tokens = new Map<number, string>()
  let knownTokens: readonly string[] = []
  let socket: Promise<Listening | undefined> | undefined
  let port: Promise<Listening | undefined> | undefined

  const createServer = () =>
    createTurnSocket(async (token, args, signal) => {
      const turn = turns.get(token)
      if (turn !== undefined) return run(turn, args, signal)
      log.warn({ event: 'agent_command.rejected' }, 'a command called hermes without the token of a running turn')
      return { output: '', errors: noTurn, exitCode: 1 }
    }, log)

  const openSocket = async () => ({
    close: await listenOnUnixSocket(createServer(), join(directory, 'hermes.sock')),
    variables: {},
  })

  /** Every program of this machine may connect. Without the token it learns nothing. */
  async function openPort(): Promise<Listening> {
    const server = createServer().listen({ port: 0, host: '127.0.0.1' })
    await once(server, 'listening')
    const address = server.address()
    const number = typeof address === 'object' && address !== null ? address.port : 0
    return { close: () => void server.close(), variables: { HERMES_TURN_PORT: String(number) } }
  }

  /** A command must not fail because its `hermes` has no socket. */
  async function listen(open: () => Promise<Listening>): Promise<Listening | undefined> {
    try {
      return await open()
    } catch (error) {
      log.error({ event: 'agent_command.no_socket', err: error }, 'commands cannot call hermes: the socket failed')
      return undefined
    }
  }

  function tokenOf(turn: CommandTurn): string | undefined {
    const known = tokens.get(turn.seq)
    if (known !== undefined) return known
    const end = ended(turn.seq)
    if (end === undefined) return undefined
    const token = randomBytes(32).toString('base64url')
    tokens.set(turn.seq, token)
    turns.set(token, turn)
    knownTokens = [...knownTokens, token].slice(-maxKnownTokens)
    secrets.setShortLived('turns', knownTokens)
    void end.then(() => {
      tokens.delete(turn.seq)
      turns.delete(token)
    })
    return token
  }

  return {
    async variablesOf(turn, hasUnixSockets) {
      if (hasUnixSockets) socket ??= listen(openSocket)
      else port ??= listen(openPort)
      const listening = await (hasUnixSockets ? socket : port)
      if (listening === undefined) return {}
      const token = tokenOf(turn)
      return token === undefined ? {} : { HERMES_TURN_TOKEN: token, ...listening.variables }
    },
    async close() {
      const opened = await Promise.all([socket, port])
      socket = undefined
      port = undefined
      for (const connection of opened) connection?.close()
    },
  }
}

const noTurn =
  'hermes: the turn that started this command has ended, or its token is wrong. Only commands of a running turn can call hermes.\n'
