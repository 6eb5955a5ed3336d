/**
 * The configuration of the HTTP server.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

export const httpConfig = {
  http: z
    .object({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .describe('The listening address. Any address other than loopback is reachable from the network.'),
      port: z.int().min(0).max(65_535).default(8642).describe('The port; 0 selects a free one.'),
      allowed_hosts: z
        .array(z.string().min(1))
        .default([])
        .describe(
          'Additional host names under which browsers and proxies reach the gateway, for example chat.example.org; with ":port" only that port.',
        ),
      allowed_origins: z
        .array(
          z.string().refine(isOrigin, { error: 'expected an origin such as https://app.example.org, without a path' }),
        )
        .default([])
        .describe(
          'Origins of web pages of other servers that may call the API from a browser (CORS), for example https://app.example.org.',
        ),
      token: z
        .string()
        .min(16)
        .optional()
        .describe('The bearer token, at least 16 characters. Default: the one in gateway.token of the home directory.'),
      metrics: z
        .boolean()
        .default(false)
        .describe('Whether GET /metrics serves counters for Prometheus. See docs/how-to/monitor-the-gateway.md.'),
      metrics_token: z
        .string()
        .min(16)
        .optional()
        .describe(
          'The bearer token of GET /metrics, at least 16 characters. It permits nothing else. Default: the token of the gateway.',
        ),
      max_body_mb: z
        .number()
        .positive()
        .max(1_000)
        .default(10)
        .describe('Maximum size of a request body, in megabytes.'),
    })
    .prefault({}),
} as const

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, '').toLowerCase()
}

export type HttpConfig = ConfigOf<typeof httpConfig>
export type HttpSettings = HttpConfig['http']
