/**
 * The routes of uploads without a gateway.
 */
import * as uploadRoutes from '../../src/api/routes/uploads.ts'
import { serveRoute } from '../../src/api/serve-route.ts'
import type { ApiServices } from '../../src/api/services.ts'
import type { FileServices } from '../../src/flows/platform/platform-files.ts'
import { createRouteTable } from '../../src/http/route-table.ts'
import { HermesError } from '../../src/lib/errors.ts'

type UploadServices = Pick<ApiServices, 'settings' | 'opened'>

/** Answers requests below `/api/uploads`, and rejects as the routes. */
export function serveUploads(files: FileServices, maxBytes: number): (request: Request) => Promise<Response> {
  const settings = {
    command_allowlist: [],
    send_message: { owner: [], member: [] },
    context_length: 0,
    terminal: { backend: 'local' },
    media: { max_mb: maxBytes / 1_048_576 },
  }
  const absent = () => {
    throw new Error('uploads use files only')
  }
  const opened = {
    files: () => Promise.resolve(files),
    changes: absent,
    changeJobs: absent,
    events: absent,
    pairing: absent,
    reader: absent,
  }
  const table = createRouteTable()
  for (const route of Object.values(uploadRoutes))
    table.add({
      route: serveRoute<UploadServices>(route, { settings: () => settings, opened }),
      alwaysAvailable: true,
    })
  return async (request) => {
    const entry = table.find(new URL(request.url).pathname)?.get(request.method)
    if (entry === undefined) throw new HermesError('http/not-found', request.url)
    return await entry.route.handle(request)
  }
}
