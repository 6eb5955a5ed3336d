/**
 * All routes of the JSON API: what the modules of `routes` export. Loaded with the first request for one of them.
 */
import type { Route } from './route.ts'
import * as agent from './routes/agent.ts'
import * as approvals from './routes/approvals.ts'
import * as extensions from './routes/extensions.ts'
import * as health from './routes/health.ts'
import * as insights from './routes/insights.ts'
import * as jobs from './routes/jobs.ts'
import * as messages from './routes/messages.ts'
import * as models from './routes/models.ts'
import * as now from './routes/now.ts'
import * as operation from './routes/operation.ts'
import * as pairing from './routes/pairing.ts'
import * as sessions from './routes/sessions.ts'
import * as settings from './routes/settings.ts'
import * as setup from './routes/setup.ts'
import * as uploads from './routes/uploads.ts'
import * as webhooks from './routes/webhooks.ts'
import * as workspaces from './routes/workspaces.ts'

const modules = [
  ...[health, operation, models, sessions, approvals, messages, workspaces, jobs, uploads, extensions, pairing],
  ...[agent, now, insights, webhooks, settings, setup],
]

/** The order in which `Allow` names the methods of a path. */
const methods = ['GET', 'POST', 'PATCH', 'DELETE']

export const apiRoutes: readonly Route[] = modules
  .flatMap((module) => Object.values<Route>(module))
  .toSorted((a, b) => methods.indexOf(a.method) - methods.indexOf(b.method))
