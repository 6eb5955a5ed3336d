/**
 * Opens the tools and the place where they work, as the configuration wants them. A file of its own because all of it is
 * loaded only when the first turn needs it.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { createFileGuard } from '../agent/command-policy/file-guard.ts'
import { createCommandPolicy } from '../agent/command-policy/policy.ts'
import { installCliShim } from '../agent/environments/cli-shim.ts'
import { createProcessTable } from '../agent/environments/create-process-table.ts'
import { createLocalEnvironment } from '../agent/environments/local-environment.ts'
import type { SessionResourcesDeps } from '../agent/environments/session-resources.ts'
import type { AgentTools } from '../agent/loop/tool-batch.ts'
import type { ToolSchema } from '../agent/models/provider.ts'
import { planBatch } from '../agent/tools/parallel.ts'
import { createToolRegistry, type LoadedTools, type ToolRegistry } from '../agent/tools/registry.ts'
import { truncateMiddle } from '../agent/tools/support/result-json.ts'
import type { TodoItem } from '../agent/tools/tool.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { PluginToolEntry } from '../plugins/plugin-tools.ts'
import type { AgentServicesDeps } from './agent-services.ts'

export interface ToolRuntime extends SessionResourcesDeps {
  readonly tools: AgentTools
}

/** Rejects with a system error when the home cannot be written. */
export async function openToolRuntime(deps: AgentServicesDeps & { cwd(): string }): Promise<ToolRuntime> {
  const { home, log, environment } = deps
  const { agent, delegation, terminal } = deps.settings()
  const { values, process } = environment()
  const userHome = values['HOME'] ?? home.root
  const registry = createToolRegistry({
    directory: new URL('../agent/tools/', import.meta.url),
    disabledToolsets: [...agent.disabled_toolsets, ...toolsetsWithoutSandbox(terminal.backend)],
    log,
    deps: {
      commandPolicy: createCommandPolicy({ home: home.root, userHome }),
      fileGuard: createFileGuard({ home: home.root, userHome, writeSafeRoot: values['HERMES_WRITE_SAFE_ROOT'] ?? '' }),
      userHome,
      searchPath: values['PATH'] ?? '',
      maxChildren: delegation.max_concurrent_children,
      terminal: {
        timeoutMs: terminal.timeout * 1_000,
        maxTimeoutMs: terminal.max_timeout * 1_000,
        maxOutputBytes: terminal.max_output_kb * 1_024,
      },
    },
  })
  const toolbox = await registry.load()
  for (const tool of deps.pluginTools()) await registerPluginTool(registry, tool, log)
  const binDir = await installCliShim(join(home.cache, 'bin'), deps.commandLine)
  return {
    tools: createToolBox(toolbox, deps),
    createEnvironment: () =>
      createLocalEnvironment({
        cwd: deps.cwd(),
        env: { ...process, HERMES_HOME: home.root },
        binDir,
        passthrough: deps.settings().terminal.env_passthrough,
        blocked: deps.withheld,
      }),
    createProcessTable: () => createProcessTable({ now: Date.now }),
    readTodos,
  }
}

/** One that the model cannot be told of is left out, and the others are not. */
async function registerPluginTool(
  registry: ToolRegistry,
  { definition, override }: PluginToolEntry,
  log: Logger,
): Promise<void> {
  try {
    await registry.register(definition, { override })
  } catch (error) {
    const { name } = definition
    log.error({ tool: name, error }, `the tool ${name} of a plugin cannot be offered: ${messageOf(error)}`)
  }
}

/** Who asked for a sandbox must not get this machine instead. */
function toolsetsWithoutSandbox(backend: string): readonly string[] {
  return backend === 'local' ? [] : ['terminal', 'file']
}

type ToolBoxDeps = Pick<AgentServicesDeps, 'redact' | 'settings'> & { cwd(): string }

function createToolBox(toolbox: LoadedTools, { cwd, redact, settings }: ToolBoxDeps): AgentTools {
  return {
    schemas: () => withoutLoneDelegation(toolbox.schemas()),
    canRunInParallel: (calls) => planBatch(calls, cwd()) === 'parallel',
    prepare(call) {
      const parsed = toolbox.parse(call.name, call.arguments)
      if (!parsed.ok) return { kind: 'invalid', error: parsed.error }
      const { call: ready } = parsed
      // A key that a command or a file shows must not travel to the model's vendor.
      return { ...ready, kind: 'ready', run: async (context) => redact(await ready.run(context)) }
    },
    sanitizeForModel: (result) => truncateMiddle(redact(result), settings().agent.max_tool_result_chars),
  }
}

/** Whoever switched every tool off has a model that takes none: sub-agents could do nothing there. */
function withoutLoneDelegation(schemas: readonly ToolSchema[]): readonly ToolSchema[] {
  return schemas.every(({ name }) => name === 'delegate_task') ? [] : schemas
}

const todoCall = z.object({
  todos: z.array(
    z.object({
      id: z.string(),
      content: z.string(),
      status: z.enum(['pending', 'in_progress', 'completed', 'cancelled']),
    }),
  ),
})

/** The list that a `todo` call wrote; null for a call that only read, or that was malformed. */
function readTodos(argumentsJson: string): readonly TodoItem[] | null {
  try {
    return todoCall.parse(JSON.parse(argumentsJson)).todos
  } catch {
    // The tool has told the model already what was wrong with it.
    return null
  }
}
