/**
 * `hermes plugins new`: creates a plugin from a working template.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { CliContext } from './kit/context.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { writeTypescriptConfig } from './kit/typescript-config.ts'

/** Throws `cli/usage` for an invalid or existing name. */
export async function pluginsNew(
  context: CliContext,
  name: string,
  { python }: { readonly python: boolean },
): Promise<void> {
  assertHomeUsable(context)
  const { plugins } = context.home
  const folder = join(plugins, name)
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new HermesError('cli/usage', `Expected a name of letters, digits, - and _, found ${JSON.stringify(name)}.`)
  }
  if (existsSync(folder)) throw new HermesError('cli/usage', `${folder} already exists.`)
  ensureDirectory(plugins)
  ensureDirectory(folder)
  const file = join(folder, python ? '__init__.py' : 'index.ts')
  writeFileSync(file, python ? pythonPlugin : typescriptPlugin, { mode: 0o600 })
  if (!python) writeTypescriptConfig(context.home)
  // Written last, because the manifest makes the directory a plugin.
  writeFileSync(join(folder, 'plugin.yaml'), manifest(name), { mode: 0o600 })
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
