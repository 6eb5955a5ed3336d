/**
 * The names of the search services, as Hermes has them. Without a choice, the first one whose key is set is used.
 */
export const searchServiceNames = ['firecrawl', 'parallel', 'tavily', 'exa', 'brave-free', 'searxng'] as const

export type SearchServiceName = (typeof searchServiceNames)[number]
