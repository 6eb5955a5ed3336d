/**
 * Joins slash commands with what they may ask of a running gateway. Out of it comes what works through the commands of a
 * session.
 */
import type { CommandServices } from '../commands/command.ts'
import { createCommandDispatcher } from '../flows/command-dispatcher.ts'
import type { SessionKey } from '../message/ids.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { Core } from './compose-core.ts'
import type { AppContext } from './context.ts'

type RunCommand = (key: SessionKey, signal: AbortSignal) => Promise<void>

export function composeCommandDispatcher(
  context: AppContext,
  core: Core,
  { agentServices: agents, compressSession }: Pick<AgentRuntime, 'agentServices' | 'compressSession'>,
): RunCommand {
  const { options, accountDirectory, platforms, store, degraded, phase, startedAt, clock, log, failpoint } = context
  const { commands, questions, runningTurns, backgroundTasks } = core
  const services: CommandServices = {
    ...core.sessionServices,
    compressSession,
    answerQuestion: questions.answerTyped,
    pendingQuestion: questions.oldestWaiting,
    version: options.version,
    commands: commands.list,
    gatewayStatus: () => ({
      ...agents.describe(),
      uptimeMs: clock() - startedAt,
      platforms: platforms.health(),
      degraded: degraded(),
      background: backgroundTasks.open(),
    }),
    accessReason: (source) => accountDirectory.access({ source }).reason,
  }
  return createCommandDispatcher({
    store,
    outbox: core.outbox,
    turnResults: core.turnResults,
    commands,
    services,
    confirm: core.confirmCommand,
    emit: core.emit,
    notifyListeners: core.notifyListeners,
    commandDecisions: core.commandDecisions,
    onCommand(command) {
      if (!runningTurns.isRunning(command.sessionKey)) core.pluginRegistries.gatewayHooks.commandReceived(command)
    },
    isAllowed: ({ source }) => accountDirectory.access({ source }).allowed,
    log,
    clock,
    failpoint,
    draining: () => phase() === 'draining',
    emitsEvents: (event) => accountDirectory.emitsEvents(event.source),
  })
}
