/**
 * Composes what runs the turns of a session: the model and its tools, prompts, attachments, compression and plugins.
 */
import { createAgent } from '../agent/agent.ts'
import type { RunningSubagent } from '../agent/support/agent-hooks.ts'
import type { AgentOfApi } from '../api/services.ts'
import { createSkillAccess, type SkillAccess } from '../flows/commands/skill-access.ts'
import type { CompressionPolicy } from '../flows/compression/compression-policy.ts'
import { type CronAccess, createCronAccess } from '../flows/cron/cron-access.ts'
import type { RunAgentCommand } from '../flows/environments/sandbox-sockets.ts'
import { createMcpAccess, type McpAccess } from '../flows/mcp/mcp-access.ts'
import type { PluginManager } from '../flows/plugins/plugin-manager.ts'
import { createPromptBuilder, type SessionPromptDeps } from '../flows/prompt/session-prompt.ts'
import type { DelegatedTurns } from '../flows/tasks/delegated-turns.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { createToolsetCheck, type ToolsetCheck } from '../flows/tools/toolset-check.ts'
import type { TurnJournal } from '../flows/turn/journal.ts'
import { brand } from '../lib/ids.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { composeAgentServices, createAskUserOf } from './compose-agent-services.ts'
import { composeOwnMemory } from './compose-memory.ts'
import { composePluginManager } from './compose-plugins.ts'
import {
  composeCompression,
  composeDelegation,
  composeMessagePreparation,
  composeTitles,
  composeTurnJournal,
  composeTurnRunner,
} from './compose-turn.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface AgentRuntime
  extends Pick<CompressionPolicy, 'compressSession'>,
    Pick<AgentOfApi, 'knownTools' | 'previewPrompt'> {
  /** Entries of toolset lists that name nothing, and a file of messages that cannot be used. Its review never rejects. */
  readonly agentCheck: ToolsetCheck
  /** Runs the turns of one session. */
  runTurn(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly agentServices: AgentServices
  /** Resolves when no title of a conversation is being asked for. */
  titlesIdle(): Promise<void>
  readonly plugins: PluginManager
  /** The sub-agents that run now, by their ids for people. */
  readonly runningSubagents: Map<string, RunningSubagent>
  /** The turns of sub-agents in the background. */
  delegatedTurns(): Promise<DelegatedTurns>
  readonly skills: SkillAccess
  readonly mcp: McpAccess
  readonly cron: CronAccess
}

/** @param runAgentCommand called after the composition */
export function composeAgent(context: AppContext, core: Core, runAgentCommand: RunAgentCommand): AgentRuntime {
  const { options, settings, accountDirectory, platforms, store, clock, random, log, failpoint } = context
  const { middleware, agentHooks, memory, sections } = core.pluginRegistries

  const ownMemory = composeOwnMemory(context, memory)
  const skills = createSkillAccess(context, core.commands, core.pluginRegistries.skills)
  const mcp = createMcpAccess(
    {
      ...{ home: context.home, version: options.version, settings, environment: context.config.environment },
      ...{ secrets: context.secrets, askUserOf: createAskUserOf(core.approvals), clock, random, log },
    },
    () => agentServices,
  )
  const agentServices: AgentServices = composeAgentServices(context, core, {
    mcpTools: mcp.tools,
    sessionServers: mcp.sessionServers,
    pluginTools: () => plugins.tools(),
    pluginEnvironments: (name) => plugins.environment(name),
    ownMemory,
    skills: skills.load,
    runAgentCommand,
    cron: () => cron.open(),
  })
  const knownTools: AgentRuntime['knownTools'] = async () =>
    (await import('../flows/tools/known-tools.ts')).knownTools(plugins.tools(), await mcp.knownTools())
  const cron: CronAccess = createCronAccess(context, core, {
    openShell: agentServices.environments.openShell,
    usualProvider: () => agentServices.models.describe().provider,
    skills,
    knownTools: async () => [
      ...(await knownTools()),
      ...(await import('./provided-tools.ts')).providedTools(context.home),
    ],
  })
  const compression = composeCompression(context, core, agentServices, ownMemory)
  const runningSubagents: AgentRuntime['runningSubagents'] = new Map()
  const agent = createAgent({
    auxiliary: agentServices.models.auxiliary,
    subagentModel: agentServices.models.subagentModel,
    runningSubagents,
    middleware,
    agentHooks,
    approve: core.approvals.approveTool,
    clock,
    log,
    random,
    pause: core.pauseTurn,
    fork: ({ sessionKey }, branches) => core.engine.fork(brand<SessionKey>(sessionKey), branches),
    settings,
    failpoint,
  })
  const plugins = composePluginManager(context, core, { agentServices, currentTurn: agent.currentTurn })
  const journal: TurnJournal = composeTurnJournal(context, core, agentServices, () => preparation)
  const preparation = composeMessagePreparation(context, core, { journal, skills, agentServices })
  const promptDeps: SessionPromptDeps = {
    home: options.home,
    store,
    settings,
    accountDirectory,
    agentServices,
    redact: context.secrets.redactKnown,
    onScanned: context.problems.fileScanned,
    log,
    clock,
    adapter: platforms.adapter,
    // Both are imported with the first session that needs them.
    knowledge: { memory: ownMemory, skills: skills.index },
    memory,
    sections,
  }
  const delegation = composeDelegation(context, core, agentServices)
  const titles = composeTitles(context, core, agentServices)
  const buildPrompt = createPromptBuilder(promptDeps)
  const turnParts = { agent, agentServices, journal, preparation, compression, delegation, titles, buildPrompt }

  return {
    runTurn: composeTurnRunner(context, core, turnParts),
    compressSession: compression.compressSession,
    agentServices,
    titlesIdle: titles.idle,
    plugins,
    skills,
    runningSubagents,
    delegatedTurns: delegation.turns,
    mcp,
    cron,
    agentCheck: composeAgentCheck(context, { plugins, mcp }, agentServices),
    knownTools,
    async previewPrompt(platform) {
      const { previewPrompt } = await import('../flows/prompt/prompt-preview.ts')
      return await previewPrompt(promptDeps, platform, await agentServices.prompt.at(noChat(platform)))
    },
  }
}

function noChat(platform: string): SessionSource {
  return { platform, account: 'default', chatId: '', chatType: 'dm' }
}

function composeAgentCheck(
  { home, mode, settings, log }: AppContext,
  { plugins, mcp }: Pick<AgentRuntime, 'plugins' | 'mcp'>,
  { prompt, environments }: AgentServices,
): ToolsetCheck {
  const ofServers = async () => [
    ...(await mcp.knownTools()),
    ...(await import('../agent/mcp/known-tools.ts')).toolsetsOfServers(settings()),
    ...(await import('./provided-tools.ts')).providedTools(home),
  ]
  const toolsets = createToolsetCheck(settings, plugins.tools, ofServers)
  const problems = () => [
    ...toolsets.problems(),
    ...(prompt.problem() === '' ? [] : [prompt.problem()]),
    ...mcp.problems(),
  ]
  return {
    async review() {
      try {
        await toolsets.review()
        await prompt.at(noChat('cli'))
        // A process for one command asks a server when it needs it.
        if (mode.staysUp) await Promise.all([mcp.discover(), environments.recover()])
        if (problems().length > 0)
          log.warn({ event: 'agent.settings_unusable', problems: problems() }, 'settings of the agent have no effect')
      } catch (error) {
        log.error(
          { event: 'agent.settings_check_failed', err: error },
          'the settings of the agent could not be checked',
        )
      }
    },
    problems,
  }
}
