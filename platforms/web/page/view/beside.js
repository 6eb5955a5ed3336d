/**
 * What is shown beside the conversation: its model and use, and the plan of the agent. Loaded after the conversation.
 */
import { byId } from '../dom.js'
import { createMeter } from './meter.js'
import { createPlan, planOf } from './plan.js'

/** @typedef {import('../../protocol.ts').WireSession} WireSession */

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {import('../files.js').Files} options.files
 * @param {() => readonly import('../items.js').Item[]} options.items
 * @param {(command: string) => void} options.onCommand
 */
export async function createBeside({ api, files, items, onCommand }) {
  const [meter, plan] = await Promise.all([
    createMeter({ place: byId('meter', HTMLElement), api, onCommand }),
    createPlan({ place: byId('plan', HTMLDetailsElement), loadTool: api.tool, files }),
  ])
  let since = 0
  let shown = ''

  return {
    /** @param {WireSession} session */
    setSession(session) {
      since = Date.parse(session.created_at)
      update()
      const state = `${session.id} ${session.updated_at} ${session.input_tokens}`
      if (state === shown) return
      shown = state
      // Without it the conversation still works; the next turn reads it again.
      meter.show(session.id).catch(() => {
        shown = ''
      })
    },
    update,
  }

  function update() {
    plan.show(planOf(items(), since))
  }
}
