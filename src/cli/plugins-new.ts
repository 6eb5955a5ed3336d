/**
 * `hermes plugins new`: creates a plugin from a working template.
 */
import type { CliContext } from './kit/context.ts'
import { type PythonOption, writeExtension } from './kit/new-extension.ts'

/** Throws `cli/usage` for an invalid or existing name. */
export async function pluginsNew(context: CliContext, name: string, { python }: PythonOption): Promise<void> {
  const code = python ? { name: '__init__.py', text: pythonPlugin } : { name: 'index.ts', text: typescriptPlugin }
  const file = writeExtension(context, context.home.plugins, name, code, { name: 'plugin.yaml', text: manifest(name) })
  context.output.write(
    `Wrote ${file}.\nIt tells the model the time and logs every tool call.\nTest it: hermes plugins test ${name}\nEnable it: hermes plugins enable ${name}\n`,
  )
}

function manifest(name: string): string {
  return `name: ${name}
version: 0.1.0
description: Tells the model the time
provides_hooks: [pre_llm_call, post_tool_call]
`
}

const typescriptPlugin = `import type { PluginContext } from '#sdk'

/** Called once, when the plugin is loaded. Its registrations are removed when it is unloaded. */
export function register(ctx: PluginContext): void {
  // Added to the user's message of this turn; only the model sees it.
  ctx.registerHook('pre_llm_call', () => ({ context: \`It is \${new Date().toISOString()}.\` }))
  ctx.registerHook('post_tool_call', ({ tool_name, status, duration_ms }) => {
    ctx.log.info({ event: 'tool.timed', tool: tool_name, status, ms: duration_ms }, 'tool call ended')
  })
}
`

const pythonPlugin = `"""Called once, when the plugin is loaded. Its registrations are removed when it is unloaded."""

from datetime import datetime, timezone


def register(ctx):
    ctx.register_hook("pre_llm_call", tell_time)
    ctx.register_hook("post_tool_call", log_tool)


def tell_time(**kwargs):
    """Added to the user's message of this turn; only the model sees it."""
    return {"context": f"It is {datetime.now(timezone.utc).isoformat()}."}


def log_tool(tool_name, status, duration_ms, **kwargs):
    print(f"{tool_name} took {duration_ms} ms: {status}")
`
