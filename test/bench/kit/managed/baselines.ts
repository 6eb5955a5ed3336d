/**
 * Variants that only createVariant the call, without scopes and events.
 */
import compose from 'koa-compose'
import { provider } from './managed-call.ts'
import { type Args, argsOf, type CreateVariant, rewritten, times, tool } from './workload.ts'

const flushNothing = async () => undefined

export const bareFunction: CreateVariant = (workload) => {
  const args = argsOf(workload)
  return { call: () => tool(args), flushed: flushNothing }
}

export const bareStream: CreateVariant = () => {
  const call = async () => {
    let text = ''
    for await (const chunk of provider()) text += chunk
    return text
  }
  return { call, flushed: flushNothing }
}

type Next = () => Promise<unknown>

interface Context {
  args: Args
  result: unknown
}

export const koa: CreateVariant = (workload) => {
  const given = argsOf(workload)
  const composed = compose<Context>([
    ...times(workload.rewrites, (step) => (context: Context, next: Next) => {
      context.args = rewritten(context.args, step)
      return next()
    }),
    ...times(workload.wrappers, () => async (_context: Context, next: Next) => await next()),
    async (context) => {
      context.result = await tool(context.args)
    },
  ])
  const call = async () => {
    const context: Context = { args: given, result: undefined }
    await composed(context)
    return context.result
  }
  return { call, flushed: flushNothing }
}
