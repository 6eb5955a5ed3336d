/**
 * The configuration keys of the browser (contract S9). The names are those of Hermes, as far as it has them.
 */
import { z } from 'zod'

export const browserConfig = {
  browser: z
    .object({
      enabled: z
        .union([z.literal('auto'), z.boolean()])
        .default('auto')
        .describe(
          'Whether `all` and the toolsets of platforms contain the browser. `auto`: where executable_path or cdp_url is set; elsewhere a list must name `browser`. `false`: there is none.',
        ),
      executable_path: z
        .string()
        .default('')
        .describe(
          'The Chromium that is started. The default is the first one on the PATH: chromium, google-chrome, ...',
        ),
      cdp_url: z
        .union([z.literal(''), z.url({ protocol: /^(?:https?|wss?)$/ })])
        .default('')
        .describe(
          'A browser that runs already, by its DevTools address such as http://127.0.0.1:9222. It is used instead of one that the gateway starts.',
        ),
      inactivity_timeout: z
        .number()
        .min(1)
        .max(86_400)
        .default(120)
        .describe('The pages of a conversation are closed after this time without a call, in seconds.'),
      command_timeout: z
        .number()
        .min(1)
        .max(600)
        .default(30)
        .describe('Limit of one call, in seconds: loading a page, a click, a screenshot.'),
      dialog_policy: z
        .enum(['auto_dismiss', 'auto_accept', 'must_respond'])
        .default('auto_dismiss')
        .describe(
          'What happens to a dialog of a page. The agent is told of it. `must_respond` of Hermes is the same as `auto_dismiss`.',
        ),
      allow_private_urls: z
        .boolean()
        .default(false)
        .describe(
          'Pages may come from this machine and from private networks. Addresses of cloud metadata services stay forbidden.',
        ),
      max_contexts: z
        .int()
        .min(1)
        .max(64)
        .default(8)
        .describe('Conversations and sub-agents that have pages at a time.'),
      max_pages: z
        .int()
        .min(1)
        .max(64)
        .default(8)
        .describe('Tabs of one conversation. Further ones are closed at once.'),
    })
    .prefault({}),
} as const
