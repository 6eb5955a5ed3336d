/**
 * `terminal.backend: singularity`. Loaded when it is configured; `plugins.enabled` need not name it.
 */
import type { PluginContext } from '#sdk'
import { readSettings } from '../shared/settings.ts'
import { createSingularityKind, singularitySettings } from './kind.ts'

export function register(ctx: Pick<PluginContext, 'registerEnvironment'>): void {
  ctx.registerEnvironment('singularity', readSettings(singularitySettings, createSingularityKind()))
}
