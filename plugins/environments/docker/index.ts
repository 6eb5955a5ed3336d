/**
 * `terminal.backend: docker`. Loaded when it is configured; `plugins.enabled` need not name it.
 */
import type { PluginContext } from '#sdk'
import { readSettings } from '../shared/settings.ts'
import { dockerSettings } from './arguments.ts'
import { createDockerKind } from './kind.ts'

export function register(ctx: Pick<PluginContext, 'registerEnvironment'>): void {
  ctx.registerEnvironment('docker', readSettings(dockerSettings, createDockerKind()))
}
