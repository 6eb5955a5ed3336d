/**
 * What a turn needs of the agent room: the configured model, the tools, the place where they work. Loaded when the first
 * turn asks for it, so that an idle daemon does not pay for it.
 */
import { resolve } from 'node:path'
import type { SubagentWorkspace } from '../agent/agent.ts'
import type { AgentConfig } from '../agent/config.ts'
import { createSessionResourcePool } from '../agent/environments/session-resources.ts'
import { createSessionToolSnapshots } from '../agent/loop/session-tool-snapshot.ts'
import type { AgentTools } from '../agent/loop/tool-batch.ts'
import type { Provider } from '../agent/models/provider.ts'
import { resolveProviderName } from '../agent/models/resolve-provider-name.ts'
import type { ToolContext } from '../agent/tools/tool.ts'
import type { Environment } from '../config/environment.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import { sleep } from '../lib/timers.ts'
import type { ChatMessage, ToolCall } from '../message/transcript.ts'
import type { PluginToolEntry } from '../plugins/plugin-tools.ts'
import type { ToolRuntime } from './tool-runtime.ts'
import type { Turn } from './turn/journal.ts'

export interface AgentServicesDeps {
  readonly home: HomeLayout
  readonly log: Logger
  readonly settings: () => AgentConfig
  readonly environment: () => Environment
  /** The command line that runs this program, for the `hermes` that commands of the agent find. */
  readonly commandLine: readonly string[]
  /** Variables that no command may see, whatever the configuration says. */
  readonly withheld: readonly string[]
  /** Tools of plugins, in the order in which they were registered. */
  pluginTools(): readonly PluginToolEntry[]
  /** Takes the gateway's own secrets out of what tools bring back. */
  redact(text: string): string
}

export interface AgentServices {
  model(): Promise<{ readonly provider: Provider; readonly model: string }>
  /** A session keeps being offered the tools with which it began; which of them there are is looked up at each call. */
  tools(sessionId: string): Promise<AgentTools>
  toolContext(turn: Pick<Turn, 'sessionId' | 'id' | 'transcript'>, call: ToolCall, signal: AbortSignal): ToolContext
  /** Where the tools of a sub-agent work: a terminal and a list of steps of its own. */
  openSubagentWorkspace(sessionId: string, turnId: string): SubagentWorkspace
  cwd(): string
  /** What is configured, without loading anything. */
  describe(): { readonly model: string; readonly provider: string }
  /** The configuration has changed: the next turn reads it. */
  reconfigured(): void
  /** Plugins offer other tools: sessions that begin from now on get them. */
  toolsChanged(): void
  close(): Promise<void>
}

export function createAgentServices(deps: AgentServicesDeps): AgentServices {
  const { home, log, settings, environment } = deps
  let configuredModel: Promise<{ readonly provider: Provider; readonly model: string }> | undefined
  let toolRuntime: Promise<ToolRuntime> | undefined
  let current: ToolRuntime | undefined
  const snapshotTools = createSessionToolSnapshots()
  const resources = createSessionResourcePool({
    createEnvironment: () => requireToolRuntime().createEnvironment(),
    createProcessTable: () => requireToolRuntime().createProcessTable(),
    readTodos: (argumentsJson) => requireToolRuntime().readTodos(argumentsJson),
  })

  const cwd = () => {
    const userHome = environment().values['HOME'] || home.root
    const wanted = settings().terminal.cwd
    return resolve(userHome, wanted.replace(/^~(?=$|\/)\/?/, ''))
  }
  const providerSettings = () => {
    const { provider, model, base_url, api_key, agent } = settings()
    const { OPENAI_API_KEY = '', ANTHROPIC_API_KEY = '' } = environment().values
    const keys = { apiKey: api_key, openaiApiKey: OPENAI_API_KEY, anthropicApiKey: ANTHROPIC_API_KEY }
    return { provider, model, baseUrl: base_url, ...keys, idleTimeoutMs: agent.model_timeout * 1_000 }
  }

  async function createConfiguredProvider() {
    const { createProvider } = await import('../agent/models/create-provider.ts')
    const choice = createProvider(providerSettings(), { sleep })
    if ('problem' in choice) throw choice.problem
    return choice
  }

  async function openTools(): Promise<ToolRuntime> {
    const { openToolRuntime } = await import('./tool-runtime.ts')
    current = await openToolRuntime({ ...deps, cwd })
    return current
  }

  /** The workshop of this moment; sessions that are open keep what they were given. */
  function requireToolRuntime(): ToolRuntime {
    if (current === undefined) throw new Error('the tools have not been opened')
    return current
  }

  const toolContextFor = (
    { sessionId, turnId }: { sessionId: string; turnId: string },
    transcript: () => readonly ChatMessage[],
    call: ToolCall,
    signal: AbortSignal,
  ): ToolContext => ({
    ...resources.getOrCreate(sessionId, transcript),
    sessionId,
    turnId,
    callId: call.id,
    signal,
    log: log.child({ turn: turnId, tool: call.name }),
    limits: { maxResultChars: settings().agent.max_tool_result_chars },
  })

  return {
    model() {
      configuredModel ??= createConfiguredProvider()
      return configuredModel
    },
    async tools(sessionId) {
      toolRuntime ??= openTools()
      return snapshotTools(sessionId, (await toolRuntime).tools)
    },
    toolContext({ sessionId, id: turnId, transcript }, call, signal) {
      return toolContextFor({ sessionId, turnId }, () => transcript.map((line) => line.message), call, signal)
    },
    openSubagentWorkspace: (sessionId, turnId) => ({
      toolContextFor: (call, signal) => toolContextFor({ sessionId, turnId }, () => [], call, signal),
      close: () => resources.dispose(sessionId),
    }),
    cwd,
    describe: () => ({ model: settings().model, provider: resolveProviderName(providerSettings()) }),
    reconfigured() {
      configuredModel = undefined
      toolRuntime = undefined
    },
    toolsChanged() {
      toolRuntime = undefined
    },
    close: resources.close,
  }
}
