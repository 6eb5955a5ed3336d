/**
 * Variants that only make the call, without scopes and events.
 */
import compose from 'koa-compose'
import { provider } from './ours.ts'
import { type Args, argsOf, rewritten, times, tool, type WayMaker } from './workload.ts'

const nobody = async () => undefined

export const bareFunction: WayMaker = (workload) => {
  const args = argsOf(workload)
  return { call: () => tool(args), heard: nobody }
}

export const bareStream: WayMaker = () => {
  const call = async () => {
    let text = ''
    for await (const chunk of provider()) text += chunk
    return text
  }
  return { call, heard: nobody }
}

type Next = () => Promise<unknown>

interface Context {
  args: Args
  result: unknown
}

export const koa: WayMaker = (workload) => {
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
  return { call, heard: nobody }
}
