/**
 * Explains why no memory provider is active although `memory.provider` names one.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { bareName } from './desired-state.ts'
import type { PluginReport } from './plugin-report.ts'

/** @param provider the value of `memory.provider` */
export function explainMissingMemoryProvider(
  provider: string,
  plugins: readonly Pick<PluginReport, 'id' | 'state' | 'reason'>[],
): string {
  const installed = plugins.filter(({ state }) => state !== 'missing')
  const plugin = installed.find(({ id }) => id === provider || bareName(id) === provider)
  const subject = `memory.provider: ${JSON.stringify(provider)}`
  if (plugin === undefined) {
    const closest = findClosestMatch(provider, [...new Set(installed.map(({ id }) => bareName(id)))])
    const question = closest === null ? '' : `; did you mean ${JSON.stringify(closest)}?`
    return `${subject} names no installed plugin, so there is no long-term memory${question}`
  }
  const reason = plugin.reason === '' ? '' : ` (${plugin.reason})`
  return plugin.state === 'loaded'
    ? `${subject}: the plugin ${plugin.id} registered no memory provider`
    : `${subject}: the plugin ${plugin.id} is ${plugin.state}${reason}, so there is no long-term memory`
}
