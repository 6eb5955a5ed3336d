/**
 * Joins slash commands with what they may ask of a running gateway. Out of it comes what works through the commands of a
 * session.
 */
import type { CommandServices } from '../commands/command.ts'
import type { SessionKey } from '../message/ids.ts'
import { createCommandLane } from './command-lane.ts'
import type { Conversations } from './conversations.ts'
import type { Rooms } from './rooms.ts'
import type { Shared } from './shared.ts'

type RunCommand = (key: SessionKey, signal: AbortSignal) => Promise<void>

export function createCommandRunner(
  shared: Shared,
  rooms: Rooms,
  { agents, compressSession }: Pick<Conversations, 'agents' | 'compressSession'>,
): RunCommand {
  const { options, people, platforms, store, degraded, phase, startedAt, clock, log, probe } = shared
  const { commands, questions, running, background } = rooms
  const services: CommandServices = {
    ...rooms.sessions,
    compressSession,
    answer: questions.typed,
    waitingQuestion: questions.waiting,
    version: options.version,
    commands: commands.list,
    gatewayStatus: () => ({
      ...agents.describe(),
      uptimeMs: clock() - startedAt,
      platforms: platforms.health(),
      degraded: degraded(),
      background: background.open(),
    }),
    accessReason: (source) => people.access({ source }).reason,
  }
  return createCommandLane({
    store,
    outbox: rooms.outbox,
    outcomes: rooms.outcomes,
    commands,
    services,
    confirm: rooms.confirm,
    emit: rooms.emit,
    tell: rooms.tell,
    decisions: rooms.decisions,
    watchCommand(command) {
      if (!running.isRunning(command.sessionKey)) rooms.pluginGround.gatewayPoints.command(command)
    },
    mayWrite: ({ source }) => people.access({ source }).allowed,
    log,
    clock,
    probe,
    draining: () => phase() === 'draining',
    watched: (event) => people.watched(event.source),
  })
}
