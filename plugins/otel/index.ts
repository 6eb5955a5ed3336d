/**
 * OpenTelemetry: exports turns, model calls and tool calls as spans of the GenAI conventions to a collector. The SDK is
 * imported when the plugin is loaded.
 */
import type { PluginContext } from '#sdk'
import { loadTracing } from './load-tracing.ts'
import { parseOtelSettings } from './settings.ts'

export async function register(ctx: PluginContext): Promise<void> {
  const { config, version, log } = ctx
  const settings = parseOtelSettings(config.all)
  const { startTracing } = await loadTracing(() => import('./tracing.ts'))
  const tracing = startTracing(settings, version, log)
  ctx.registerSubscriber('spans', tracing.handleEvent)
  ctx.onUnload(tracing.close)
}
