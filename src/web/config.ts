/**
 * The configuration keys of the web tools (contract S9). The keys of the services are environment variables.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { searchServiceNames } from './service-names.ts'

const service = z.enum(['', ...searchServiceNames]).default('')

export const webConfig = {
  web: z
    .object({
      backend: service.describe(
        'The service of `web_search`, and of `web_extract` if it reads pages. Default: the first service whose key is set, and pages are read by the gateway itself.',
      ),
      search_backend: service.describe('The service of `web_search`, instead of `backend`.'),
      extract_backend: z
        .enum(['', 'local', ...searchServiceNames])
        .default('')
        .describe('The service of `web_extract`, instead of `backend`; `local` is the gateway itself.'),
    })
    .prefault({}),
} as const

export type WebConfig = ConfigOf<typeof webConfig>
