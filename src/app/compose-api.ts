/**
 * Composes the JSON API. Loaded with its first request.
 */
import { join, relative } from 'node:path'
import type { ApiDeps } from '../api/handle-request.ts'
import type { HttpRoute } from '../platforms/adapter.ts'
import { createReaderThread } from '../store/sqlite/reader-thread.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export function composeApi(
  { options, settings, store, accountDirectory, platforms, clock, log }: AppContext,
  { sessionServices, approvals, outbox }: Core,
  { routes, setServers }: { readonly routes: () => readonly HttpRoute[] } & Pick<ApiDeps, 'setServers'>,
): ApiDeps {
  return {
    store,
    clock,
    log,
    database: options.home.databaseFile,
    async openFile(file) {
      const { media, pictures } = options.home
      const path = 'picture' in file ? join(pictures, file.picture) : file.path
      const { openStoredFile } = await import('../media/file-store.ts')
      return await openStoredFile(relative(media, path), { folder: media })
    },
    reader: createReaderThread(new URL('../api/read-sessions-thread.ts', import.meta.url)),
    resetSession: sessionServices.resetSession,
    questions: approvals.questions.deps,
    withhold: outbox.withhold,
    accountDirectory,
    platform: accountDirectory.platform,
    sessionKey: accountDirectory.sessionKey,
    home: options.home,
    setServers,
    contextLength: () => settings().context_length,
    isHere: () => /^(?:local|bwrap)$/.test(settings().terminal.backend),
    adapter: platforms.adapter,
    async openApi(url) {
      const [{ buildOpenApi }, { errorSchema, describeRoutes }] = await Promise.all([
        import('../http/openapi.ts'),
        import('../api/descriptions.ts'),
      ])
      const described = await describeRoutes(routes())
      return await buildOpenApi(described, { version: options.version, url, error: errorSchema() })
    },
  }
}
