/**
 * The toolsets of which a session has a tool, for the conditions of skills: those of the table, of `custom_toolsets` and of plugins.
 */
import { type CustomToolsets, type SelectableTool, selectTools } from './select-tools.ts'
import { toolsets } from './toolsets.ts'

/** @param offered what the session can call */
export function availableToolsets(offered: readonly SelectableTool[], custom: CustomToolsets): ReadonlySet<string> {
  const names = [...Object.keys(toolsets), ...Object.keys(custom), ...offered.map(({ toolset }) => toolset)]
  return new Set(names.filter((name) => selectTools([name], offered, custom).size > 0))
}
