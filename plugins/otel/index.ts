/**
 * OpenTelemetry: turns, model calls and tool calls become spans of the GenAI conventions and go to a collector. The SDK is
 * imported here, when the plugin is loaded, and not before.
 */
import type { PluginContext } from '#sdk'
import { loadTracing } from './load.ts'
import { otelSettings } from './settings.ts'

export async function register(ctx: PluginContext): Promise<void> {
  const { config, version, log } = ctx
  const settings = otelSettings(config.all)
  const { openTracing } = await loadTracing(() => import('./tracing.ts'))
  const tracing = openTracing({ settings, version, log })
  ctx.registerSubscriber('spans', tracing.hear)
  ctx.onUnload(tracing.close)
}
