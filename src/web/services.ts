/**
 * The services that search the web and read pages (contract S9): addresses, keys, and the shapes of their requests and responses.
 */
import { z } from 'zod'
import type { SearchServiceName } from './service-names.ts'

export interface SearchHit {
  readonly title: string
  readonly url: string
  readonly description: string
}

export interface ExtractedPage {
  readonly url: string
  readonly title: string
  /** Markdown. */
  readonly content: string
  /** Why there is no content. */
  readonly error?: string
}

export interface ServiceRequest {
  /** Appended to the address of the service. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON by POST. Without it, the request is a GET. */
  readonly body?: Readonly<Record<string, unknown>>
}

export interface SearchService {
  readonly label: string
  /** The variable with the key; undefined for a service without one. */
  readonly keyVariable?: string
  /** The variable with another address. */
  readonly addressVariable?: string
  /** '' when only the variable has it. */
  readonly address: string
  /** What the key is not needed for: an own server. */
  readonly isKeyOptional?: boolean
  search(query: string, limit: number, key: string): ServiceRequest
  /** Throws a `ZodError` for a response of another shape. */
  hits(response: unknown): readonly SearchHit[]
  /** The requests that read pages; absent for a service that only searches. */
  readonly extract?: {
    request(urls: readonly string[], key: string): readonly ServiceRequest[]
    /** Throws a `ZodError` for a response of another shape. */
    pages(response: unknown): readonly ExtractedPage[]
  }
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
const bearer = (key: string): Readonly<Record<string, string>> => (key === '' ? {} : { authorization: `Bearer ${key}` })

const hit = z.object({ title: text, url: z.string(), description: text })
const contentHit = z
  .object({ title: text, url: z.string(), content: text })
  .transform(({ content, ...rest }) => ({ ...rest, description: content }))
const joined = (lines: readonly string[] | null | undefined) => (lines ?? []).join(' … ')

const firecrawl: SearchService = {
  label: 'Firecrawl',
  keyVariable: 'FIRECRAWL_API_KEY',
  addressVariable: 'FIRECRAWL_API_URL',
  address: 'https://api.firecrawl.dev',
  isKeyOptional: true,
  search: (query, limit, key) => ({ path: '/v2/search', headers: bearer(key), body: { query, limit } }),
  hits: (response) => z.object({ data: z.object({ web: z.array(hit).nullish() }) }).parse(response).data.web ?? [],
  extract: {
    request: (urls, key) =>
      urls.map((url) => ({ path: '/v2/scrape', headers: bearer(key), body: { url, formats: ['markdown'] } })),
    pages(response) {
      const { data } = z
        .object({
          data: z.object({ markdown: text, metadata: z.object({ title: text, sourceURL: text }) }),
        })
        .parse(response)
      return [{ url: data.metadata.sourceURL, title: data.metadata.title, content: data.markdown }]
    },
  },
}

const parallel: SearchService = {
  label: 'Parallel',
  keyVariable: 'PARALLEL_API_KEY',
  address: 'https://api.parallel.ai',
  search: (query, limit, key) => ({
    path: '/v1/search',
    headers: { 'x-api-key': key },
    body: { objective: query, search_queries: [query], advanced_settings: { max_results: limit } },
  }),
  hits: (response) =>
    z
      .object({ results: z.array(z.object({ title: text, url: z.string(), excerpts: z.array(z.string()).nullish() })) })
      .parse(response)
      .results.map(({ excerpts, ...rest }) => ({ ...rest, description: joined(excerpts) })),
  extract: {
    request: (urls, key) => [
      {
        path: '/v1/extract',
        headers: { 'x-api-key': key },
        body: { urls, advanced_settings: { full_content: true } },
      },
    ],
    pages(response) {
      const { results, errors } = z
        .object({
          results: z.array(
            z.object({ url: z.string(), title: text, full_content: text, excerpts: z.array(z.string()).nullish() }),
          ),
          errors: z.array(z.object({ url: z.string(), error_type: text })).nullish(),
        })
        .parse(response)
      return [
        ...results.map(({ url, title, full_content: content, excerpts }) => ({
          url,
          title,
          content: content || (excerpts ?? []).join('\n\n'),
        })),
        ...(errors ?? []).map(({ url, error_type: error }) => ({ url, title: '', content: '', error })),
      ]
    },
  },
}

const tavily: SearchService = {
  label: 'Tavily',
  keyVariable: 'TAVILY_API_KEY',
  addressVariable: 'TAVILY_API_URL',
  address: 'https://api.tavily.com',
  search: (query, limit, key) => ({ path: '/search', headers: bearer(key), body: { query, max_results: limit } }),
  hits: (response) => z.object({ results: z.array(contentHit) }).parse(response).results,
  extract: {
    request: (urls, key) => [{ path: '/extract', headers: bearer(key), body: { urls, format: 'markdown' } }],
    pages(response) {
      const { results, failed_results: failed } = z
        .object({
          results: z.array(z.object({ url: z.string(), title: text, raw_content: text })),
          failed_results: z.array(z.object({ url: z.string(), error: text })).nullish(),
        })
        .parse(response)
      return [
        ...results.map(({ url, title, raw_content: content }) => ({ url, title, content })),
        ...(failed ?? []).map(({ url, error }) => ({ url, title: '', content: '', error })),
      ]
    },
  },
}

const exa: SearchService = {
  label: 'Exa',
  keyVariable: 'EXA_API_KEY',
  address: 'https://api.exa.ai',
  search: (query, limit, key) => ({
    path: '/search',
    headers: { 'x-api-key': key },
    body: { query, numResults: limit, contents: { highlights: true } },
  }),
  hits: (response) =>
    z
      .object({
        results: z.array(z.object({ title: text, url: z.string(), highlights: z.array(z.string()).nullish(), text })),
      })
      .parse(response)
      .results.map(({ title, url, highlights, text: beginning }) => ({
        title,
        url,
        description: joined(highlights) || beginning,
      })),
  extract: {
    request: (urls, key) => [{ path: '/contents', headers: { 'x-api-key': key }, body: { urls, text: true } }],
    pages(response) {
      const { results, statuses } = z
        .object({
          results: z.array(z.object({ url: z.string(), title: text, text })),
          statuses: z
            .array(z.object({ id: z.string(), status: z.string(), error: z.object({ tag: text }).nullish() }))
            .nullish(),
        })
        .parse(response)
      return [
        ...results.map(({ url, title, text: content }) => ({ url, title, content })),
        ...(statuses ?? [])
          .filter(({ status }) => status === 'error')
          .map(({ id, error }) => ({ url: id, title: '', content: '', error: error?.tag ?? '' })),
      ]
    },
  },
}

const brave: SearchService = {
  label: 'Brave Search',
  keyVariable: 'BRAVE_SEARCH_API_KEY',
  address: 'https://api.search.brave.com',
  search(query, limit, key) {
    const parameters = new URLSearchParams({ q: query, count: String(limit), text_decorations: 'false' })
    return { path: `/res/v1/web/search?${parameters}`, headers: { 'x-subscription-token': key } }
  },
  // Without any hit, the part `web` is missing.
  hits: (response) =>
    z.object({ web: z.object({ results: z.array(hit) }).nullish() }).parse(response).web?.results ?? [],
}

const searxng: SearchService = {
  label: 'SearXNG',
  addressVariable: 'SEARXNG_URL',
  address: '',
  search: (query) => ({
    path: `/search?${new URLSearchParams({ q: query, format: 'json', pageno: '1' })}`,
    headers: {},
  }),
  // It merges the results of several engines, and its order is not that of the score.
  hits: (response) =>
    z
      .object({ results: z.array(z.intersection(contentHit, z.object({ score: z.number().nullish() }))) })
      .parse(response)
      .results.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
      .map(({ title, url, description }) => ({ title, url, description })),
}

/** The order is that of the choice without configuration. */
export const searchServices: Readonly<Record<SearchServiceName, SearchService>> = {
  firecrawl,
  parallel,
  tavily,
  exa,
  'brave-free': brave,
  searxng,
}
