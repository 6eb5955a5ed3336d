/**
 * What receiving an event and working on it share.
 */
import type { PlatformAutomation, PlatformContext } from '#sdk'
import type { Routes } from './routes.ts'

export interface Webhooks {
  readonly context: PlatformContext
  readonly automation: PlatformAutomation
  readonly routes: Routes
}
