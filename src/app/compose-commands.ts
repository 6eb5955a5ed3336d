/**
 * Composes what runs the slash commands of a session.
 */

import { type CommandRegistry, createCommandRegistry } from '../commands/registry.ts'
import type { AgentCommandDeps } from '../flows/commands/agent-commands.ts'
import { createCommandDispatcher } from '../flows/commands/command-dispatcher.ts'
import type { RunAgentCommand } from '../flows/environments/sandbox-sockets.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { lazy } from '../lib/cache.ts'
import { toShortLine } from '../lib/redact.ts'
import { readSessionSettings } from '../sessions/session-state.ts'
import { builtInCommands, type CommandGateway, type ModelAccess } from './built-in-commands.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export type CommandRuntime = ReturnType<typeof composeCommandRuntime>

export function composeCommandRuntime(context: AppContext, core: Core, agent: AgentRuntime) {
  const { outbox } = core
  /** Runs the slash commands of one session. */
  const runCommand = createCommandDispatcher(context, core)
  // Both that read earlier conversations share it, because it has a thread.
  const visibleSessions = lazy(async () => {
    const { createVisibleSessions } = await import('../store/sqlite/visible-sessions.ts')
    return createVisibleSessions(context.options.home.databaseFile)
  })
  const models = composeModelAccess(context, agent.agentServices, outbox.withhold)
  /** What the built-in commands are given. */
  const gateway: CommandGateway = { context, core, agent, models, visibleSessions }
  return { runCommand, runAgentCommand: composeAgentCommands(gateway), gateway }
}

function composeAgentCommands({ context, core, agent, visibleSessions }: CommandGateway): RunAgentCommand {
  const { log, store, accountDirectory: accounts } = context
  const { commands, hooks, outbox } = core
  return async (turn, args, signal) => {
    const [{ runAgentCommand }, { list }] = await Promise.all([
      import('../flows/commands/agent-commands.ts'),
      visibleSessions(),
    ])
    const deps: AgentCommandDeps = {
      commands,
      accounts,
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
  context: AppContext,
  agentServices: AgentServices,
  withhold: (text: string) => string,
): ModelAccess {
  const { store, accountDirectory, settings } = context
  const services = lazy(async () => {
    const { createModelServices } = await import('../flows/commands/model-commands.ts')
    return createModelServices(context, agentServices.models, withhold)
  })
  return {
    services,
    async modelOf({ sessionKey, source }) {
      const chosen = await store.run(() => readSessionSettings(sessionKey))
      const isConfigured = chosen.model === undefined && accountDirectory.policyOf(source).models === undefined
      if (isConfigured) return { ...agentServices.models.describe(), contextLength: settings().context_length }
      return await (await services()).current({ sessionKey, source })
    },
  }
}

/** Limits a session or message that is listed for the agent. */
const maxRowChars = 200

/** @param gateway called when a command runs */
export function composeCommandRegistry(context: AppContext, gateway: () => CommandGateway): CommandRegistry {
  return createCommandRegistry(builtInCommands(gateway), {
    settings: () => context.settings().quick_commands,
    async run(command, call) {
      const { runQuickCommand } = await import('../flows/commands/quick-command.ts')
      const { core, agent } = gateway()
      return await runQuickCommand(context, core, agent.agentServices.environments.openShell, command, call)
    },
  })
}
