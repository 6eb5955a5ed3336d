/**
 * Discovers tools in a directory: every file whose default export is a tool definition or a function that returns one.
 */
import { readdir } from 'node:fs/promises'
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { BuiltInToolDeps } from './deps.ts'
import type { ToolDefinition } from './tool.ts'

/** Returns tools in the order of their file names. Logs and skips a broken file. Rejects when the directory is missing. */
export async function discoverTools(directory: URL, deps: BuiltInToolDeps, log: Logger): Promise<ToolDefinition[]> {
  const base = directory.href.endsWith('/') ? directory : new URL(`${directory.href}/`)
  const entries = await readdir(base, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && isModuleFile(entry.name)).map((entry) => entry.name)
  const found: ToolDefinition[] = []
  for (const name of names.sort()) {
    try {
      const module: unknown = await import(new URL(name, base).href)
      const exported = defaultExportOf(module)
      // A file without a default export is a helper module.
      if (exported === undefined) continue
      const definition: unknown = typeof exported === 'function' ? exported(deps) : exported
      if (!isToolDefinition(definition)) throw new Error('its default export is not a tool definition')
      found.push(definition)
    } catch (error) {
      log.error({ event: 'tool.load_failed', file: name, err: error }, `tool could not be loaded: ${messageOf(error)}`)
    }
  }
  return found
}

const isModuleFile = (name: string) => /\.(?:ts|js|mjs)$/.test(name) && !/\.(?:d|test)\.[cm]?[tj]s$/.test(name)

function defaultExportOf(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
}

function isToolDefinition(value: unknown): value is ToolDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    /^[\w-]{1,64}$/.test(value.name) &&
    'toolset' in value &&
    typeof value.toolset === 'string' &&
    'description' in value &&
    typeof value.description === 'string' &&
    'parameters' in value &&
    value.parameters instanceof z.ZodType &&
    'mode' in value &&
    'run' in value &&
    typeof value.run === 'function'
  )
}
