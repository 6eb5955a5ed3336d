/**
 * Composes what runs the slash commands of a session.
 */

import { type CommandRegistry, createCommandRegistry } from '../commands/registry.ts'
import type { AgentCommandDeps } from '../flows/commands/agent-commands.ts'
import { type CommandDispatcherDeps, createCommandDispatcher } from '../flows/commands/command-dispatcher.ts'
import type { RunAgentCommand } from '../flows/environments/turn-access.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { lazy } from '../lib/lazy.ts'
import { toShortLine } from '../lib/redact.ts'
import type { SessionKey } from '../message/ids.ts'
import { readSessionSettings } from '../sessions/session-state.ts'
import { builtInCommands, type CommandGateway, type ModelAccess } from './built-in-commands.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface CommandRuntime {
  /** Runs the slash commands of one session. */
  runCommand(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly runAgentCommand: RunAgentCommand
  /** What the built-in commands are given. */
  readonly gateway: CommandGateway
}

export function composeCommandRuntime(context: AppContext, core: Core, agent: AgentRuntime): CommandRuntime {
  const { accountDirectory, store, lifecycle, clock, log, failpoint } = context
  const refuse: CommandDispatcherDeps['refuse'] & AgentCommandDeps['refuse'] = async (
    definition,
    { authority, source },
  ) => {
    if (authority.role === 'owner') return undefined
    const { refuseCommand } = await import('../flows/access/command-ceiling.ts')
    const isShared = accountDirectory.isShared(source)
    return refuseCommand(definition, authority, accountDirectory.commandTiersOf(source), isShared)
  }
  const runCommand = createCommandDispatcher({
    store,
    outbox: core.outbox,
    turnResults: core.turnResults,
    commands: core.commands,
    answerPlain: core.approvals.questions.answerPlain,
    confirm: core.approvals.confirmCommand,
    emit: core.events.emit,
    notifyListeners: core.events.notifyListeners,
    commandDecisions: core.commandDecisions,
    isRunning: core.runningTurns.isRunning,
    onCommand: (command) => core.pluginRegistries.gatewayHooks.commandReceived(command),
    authorityOf: accountDirectory.authorityOf,
    refuse,
    isRevoked: accountDirectory.isRevoked,
    isAllowed: ({ source }) => accountDirectory.access({ source }).allowed,
    log,
    clock,
    failpoint,
    isDraining: lifecycle.isDraining,
    emitsEvents: accountDirectory.emitsEvents,
  })
  // Both that read earlier conversations share it, because it has a thread.
  const visibleSessions = lazy(async () => {
    const { createVisibleSessions } = await import('../store/sqlite/visible-sessions.ts')
    return createVisibleSessions(context.options.home.databaseFile)
  })
  const models = composeModelAccess(context, agent.agentServices, core.outbox.withhold)
  const gateway: CommandGateway = { context, core, agent, models, visibleSessions }
  return { runCommand, runAgentCommand: composeAgentCommands(gateway, refuse), gateway }
}

function composeAgentCommands(
  { context: { log, store }, core, agent, visibleSessions }: CommandGateway,
  refuse: AgentCommandDeps['refuse'],
): RunAgentCommand {
  const { commands, hooks, outbox } = core
  return async (turn, args, signal) => {
    const [{ runAgentCommand }, { list }] = await Promise.all([
      import('../flows/commands/agent-commands.ts'),
      visibleSessions(),
    ])
    const deps: AgentCommandDeps = {
      commands,
      refuse,
      async readSessions(request, stop) {
        if (request.words !== undefined) await (await import('../store/search-index.ts')).indexNewMessages(store)
        const rows = await list(request, stop)
        return rows.map((row) => ({ ...row, text: toShortLine(row.text, maxRowChars, outbox.withhold) }))
      },
      plugins: async () => (await agent.plugins.list()).map(({ id, state }) => `${id}  ${state}`),
      async jobs({ source, authority }) {
        const { createJobServices } = await import('../flows/cron/job-services.ts')
        const listed = await createJobServices(agent.cron.open, outbox).run({ action: 'list' }, { source, authority })
        return 'problem' in listed ? [listed.problem] : listed.lines
      },
      hooks: () => hooks.list().map(({ name, state }) => `${name}  ${state}`),
      log,
    }
    return runAgentCommand(deps, turn, args, signal)
  }
}

/** The code is loaded where a conversation may have a model of its own. */
function composeModelAccess(
  { options, store, accountDirectory, settings }: AppContext,
  agentServices: AgentServices,
  withhold: (text: string) => string,
): ModelAccess {
  const services = lazy(async () => {
    const { createModelServices } = await import('../flows/commands/model-commands.ts')
    return createModelServices({ store, models: agentServices, home: options.home, settings, withhold })
  })
  return {
    services,
    async modelOf({ sessionKey, source }) {
      const chosen = await store.run(() => readSessionSettings(sessionKey))
      const isConfigured = chosen.model === undefined && accountDirectory.policyOf(source).models === undefined
      if (isConfigured) return { ...agentServices.describe(), contextLength: settings().context_length }
      return await (await services()).current({ sessionKey, source })
    },
  }
}

/** Of a session or message that is listed for the agent. */
const maxRowChars = 200

/** @param gateway called when a command runs */
export function composeCommandRegistry(
  { settings, store, secrets: { redact }, log }: AppContext,
  gateway: () => CommandGateway,
): CommandRegistry {
  const commands = createCommandRegistry(builtInCommands(gateway), {
    settings: () => settings().quick_commands,
    async run(command, call) {
      const { runQuickCommand } = await import('../flows/commands/quick-command.ts')
      const { core, agent } = gateway()
      const { openShell } = agent.agentServices
      const { commandDecisions } = core
      return await runQuickCommand({ store, commands, commandDecisions, openShell, redact, log }, command, call)
    },
  })
  return commands
}
