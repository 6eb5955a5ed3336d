/**
 * Opens the tools and the place where they work, as the configuration wants them. A file of its own because all of it is
 * loaded only when the first turn needs it.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { createFileGuard } from '../agent/command-policy/file-guard.ts'
import { createCommandPolicy } from '../agent/command-policy/policy.ts'
import { createCommandFolder } from '../agent/environments/command-folder.ts'
import { createLocalEnvironment } from '../agent/environments/local.ts'
import { createProcessTable } from '../agent/environments/processes.ts'
import type { ToolSchema } from '../agent/provider.ts'
import type { SessionResourcesDeps } from '../agent/session-resources.ts'
import type { TodoItem } from '../agent/tool.ts'
import type { ToolBox } from '../agent/tool-batch.ts'
import { planBatch } from '../agent/tools/parallel.ts'
import { createToolRegistry, type Toolbox, type ToolRegistry } from '../agent/tools/registry.ts'
import { cutMiddle } from '../agent/tools/support/result.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { OfferedTool } from '../plugins/tools.ts'
import type { AgentServicesDeps } from './agent-services.ts'

export interface Workshop extends SessionResourcesDeps {
  readonly tools: ToolBox
}

/** Rejects with a system error when the home cannot be written. */
export async function openWorkshop(deps: AgentServicesDeps & { cwd(): string }): Promise<Workshop> {
  const { home, log, environment } = deps
  const { agent, delegation, terminal } = deps.settings()
  const { values, process } = environment()
  const userHome = values['HOME'] ?? home.root
  const registry = createToolRegistry({
    directory: new URL('../agent/tools/', import.meta.url),
    disabledToolsets: [...agent.disabled_toolsets, ...unsafeToolsets(terminal.backend)],
    log,
    deps: {
      policy: createCommandPolicy({ home: home.root, userHome }),
      guard: createFileGuard({ home: home.root, userHome, writeSafeRoot: values['HERMES_WRITE_SAFE_ROOT'] ?? '' }),
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
  for (const tool of deps.pluginTools()) await offer(registry, tool, log)
  const binDir = await createCommandFolder(join(home.cache, 'bin'), deps.program)
  return {
    tools: toolBox(toolbox, deps),
    createEnvironment: () =>
      createLocalEnvironment({
        cwd: deps.cwd(),
        env: { ...process, HERMES_HOME: home.root },
        binDir,
        passthrough: deps.settings().terminal.env_passthrough,
        withheld: deps.withheld,
      }),
    createProcessTable: () => createProcessTable({ now: Date.now }),
    readTodos,
  }
}

/** One that the model cannot be told of is left out, and the others are not. */
async function offer(registry: ToolRegistry, { definition, override }: OfferedTool, log: Logger): Promise<void> {
  try {
    await registry.register(definition, { override })
  } catch (error) {
    const { name } = definition
    log.error({ tool: name, error }, `the tool ${name} of a plugin cannot be offered: ${messageOf(error)}`)
  }
}

/** Who asked for a sandbox must not get this machine instead. */
function unsafeToolsets(backend: string): readonly string[] {
  return backend === 'local' ? [] : ['terminal', 'file']
}

type ToolBoxDeps = Pick<AgentServicesDeps, 'redact' | 'settings'> & { cwd(): string }

function toolBox(toolbox: Toolbox, { cwd, redact, settings }: ToolBoxDeps): ToolBox {
  return {
    schemas: () => offered(toolbox.schemas()),
    mayRunTogether: (calls) => planBatch(calls, cwd()) === 'parallel',
    prepare(call) {
      const parsed = toolbox.parse(call.name, call.arguments)
      if (!parsed.ok) return { kind: 'invalid', error: parsed.error }
      const { call: ready } = parsed
      // A key that a command or a file shows must not travel to the model's vendor.
      return { ...ready, kind: 'ready', run: async (context) => redact(await ready.run(context)) }
    },
    presentable: (result) => cutMiddle(redact(result), settings().agent.max_tool_result_chars),
  }
}

/** Whoever switched every tool off has a model that takes none: sub-agents could do nothing there. */
function offered(schemas: readonly ToolSchema[]): readonly ToolSchema[] {
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
