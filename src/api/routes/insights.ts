/**
 * The people who use the gateway, what they cost, and what it logs.
 */
import { defineRoutes } from '../route.ts'
import { logsQuery, logsResponse } from '../shapes/logs.ts'
import { peopleQuery, peopleResponse } from '../shapes/people.ts'
import { spendQuery, spendResponse } from '../shapes/spend.ts'

const route = defineRoutes('Operation')

export const listPeople = route('GET', '/api/people', {
  summary: 'Lists the people who have access, with their roles, or who wrote.',
  query: peopleQuery,
  response: peopleResponse,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/people.ts')).listPeople(services, query, signal),
})

export const showSpend = route('GET', '/api/spend', {
  summary: 'Tokens and money by day, for each model, platform or person.',
  query: spendQuery,
  response: spendResponse,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/spend.ts')).showSpend(services, query, signal),
})

export const listLogs = route('GET', '/api/logs', {
  summary: 'Lists lines of the log, filtered.',
  query: logsQuery,
  response: logsResponse,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/logs.ts')).listLogs(services, query, signal),
})
