/**
 * `terminal.backend: ssh`. Loaded when it is configured; `plugins.enabled` need not name it.
 */
import type { PluginContext } from '#sdk'
import { readSettings } from '../shared/settings.ts'
import { createSshKind, sshSettings } from './kind.ts'

export function register(ctx: Pick<PluginContext, 'registerEnvironment'>): void {
  ctx.registerEnvironment('ssh', readSettings(sshSettings, createSshKind()))
}
