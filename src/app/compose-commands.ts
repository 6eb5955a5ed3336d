/**
 * Composes what runs the slash commands of a session.
 */
import { isYolo, toggleYolo } from '../approvals/queries.ts'
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
  agentRuntime: Pick<AgentRuntime, 'agentServices' | 'compressSession'>,
): RunCommand {
  const { accountDirectory, store, isDraining, clock, log, failpoint } = context
  return createCommandDispatcher({
    store,
    outbox: core.outbox,
    turnResults: core.turnResults,
    commands: core.commands,
    services: composeCommandServices(context, core, agentRuntime),
    answerPlain: core.approvals.questions.answerPlain,
    confirm: core.approvals.confirmCommand,
    emit: core.events.emit,
    notifyListeners: core.events.notifyListeners,
    commandDecisions: core.commandDecisions,
    isRunning: core.runningTurns.isRunning,
    onCommand: (command) => core.pluginRegistries.gatewayHooks.commandReceived(command),
    authorityOf: accountDirectory.authorityOf,
    async refuse(definition, { authority, source }) {
      if (authority.role === 'owner') return undefined
      const { refuseCommand } = await import('../flows/command-ceiling.ts')
      return refuseCommand(definition, authority, accountDirectory.commandTiersOf(source))
    },
    isAllowed: ({ source }) => accountDirectory.access({ source }).allowed,
    log,
    clock,
    failpoint,
    isDraining,
    emitsEvents: accountDirectory.emitsEvents,
  })
}

function composeCommandServices(
  { options, accountDirectory, platforms, store, degraded, startedAt, clock }: AppContext,
  { sessionServices, approvals, commands, backgroundTasks, pause }: Core,
  { agentServices, compressSession }: Pick<AgentRuntime, 'agentServices' | 'compressSession'>,
): CommandServices {
  const { stopTurn, resetSession, sessionStatus } = sessionServices
  return {
    stopTurn,
    resetSession,
    sessionStatus,
    compressSession,
    answerQuestion: approvals.questions.answerTyped,
    pendingQuestion: approvals.questions.oldestWaiting,
    version: options.version,
    commands: commands.list,
    gatewayStatus() {
      const { model, provider } = agentServices.describe()
      return {
        model,
        provider,
        uptimeMs: clock() - startedAt,
        platforms: platforms.health(),
        degraded: degraded(),
        background: backgroundTasks.open(),
      }
    },
    toggleYolo: (sessionId, { userId = '' }) => store.run(() => toggleYolo(sessionId, userId, clock())),
    isYolo: (sessionId) => store.run(() => isYolo(sessionId)),
    accessReason: (source) => accountDirectory.access({ source }).reason,
    async permissionsOf(authority, source) {
      const { permittedCommands } = await import('../flows/command-ceiling.ts')
      const commands =
        authority.role === 'owner' ? ['*'] : permittedCommands(authority, accountDirectory.commandTiersOf(source))
      return { role: authority.role, tools: agentServices.toolListOf(authority), commands }
    },
    pauseAgent: pause.pause,
    resumeAgent: pause.resume,
  }
}
