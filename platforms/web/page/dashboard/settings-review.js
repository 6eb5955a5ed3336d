/**
 * The dialog that shows what a change of the settings would do, and saves it.
 */
import { ApiError } from '../api.js'
import { h } from '../dom.js'
import { createAttempts } from '../view/attempts.js'
import { openDialog } from './dialogs.js'
import { createButton } from './section.js'

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {string} options.revision what the person has seen
 * @param {readonly { path: readonly string[], value?: unknown }[]} options.changes
 * @returns {Promise<'saved' | 'stale' | 'cancelled'>} `stale`: the file is to be read again
 */
export function reviewChanges(options) {
  return new Promise((resolve) => void openReview(options, resolve))
}

/** @param {Parameters<typeof reviewChanges>[0]} options @param {(result: 'saved' | 'stale' | 'cancelled') => void} resolve */
async function openReview({ api, revision, changes }, resolve) {
  const { dialog, form } = openDialog('Save these changes?', () => resolve('cancelled'))
  dialog.classList.add('review')
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true })
  const attempt = createAttempts(trouble)
  const body = h('div', {}, h('p', { class: 'fine', role: 'status' }, 'Loading'))
  const save = createButton('Save', trySave, { isMain: true })
  save.disabled = true
  form.append(
    body,
    trouble,
    h(
      'div',
      { class: 'actions ends' },
      createButton('Cancel', () => dialog.close()),
      save,
    ),
  )
  const isRead = await attempt(async () => {
    const plan = await api.request('/api/settings/preview', { body: { changes } })
    body.replaceChildren(...describePlan(plan))
    save.disabled = plan.problems.length > 0
  }, 'The changes could not be compared.')
  if (!isRead) body.replaceChildren()

  async function trySave() {
    save.disabled = true
    await attempt(async () => {
      try {
        await api.request('/api/settings', { body: { revision, changes } })
        resolve('saved')
        dialog.close()
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 409)) throw error
        body.replaceChildren()
        save.replaceWith(createButton('Read the file again', () => readAgain(), { isMain: true }))
        throw error
      }
    }, 'Nothing was saved.')
    save.disabled = false
  }

  function readAgain() {
    resolve('stale')
    dialog.close()
  }
}

/** @param {{ diff: string, problems: any[], restart: string[], changed: string[], overruled: { path: string, variable: string }[] }} plan */
function describePlan({ diff, problems, restart, changed, overruled }) {
  if (problems.length > 0)
    return [
      h('p', {}, 'This cannot be saved:'),
      h(
        'ul',
        { class: 'review-problems' },
        ...problems.map(({ line, column, path, message }) =>
          h(
            'li',
            {},
            h('code', {}, path),
            ` ${message} `,
            h('span', { class: 'fine' }, line === undefined ? '' : `line ${line}, column ${column}`),
          ),
        ),
      ),
      drawDiff(diff),
    ]
  const isAll = changed.length > 0 && changed.every((path) => restart.includes(path))
  const effect =
    restart.length === 0
      ? 'It applies at once.'
      : isAll
        ? 'It applies after a restart.'
        : `${restart.join(', ')}: after a restart. The rest applies at once.`
  return [
    ...(diff === '' ? [h('p', {}, 'Nothing would change in the file.')] : [h('p', {}, effect)]),
    ...overruled.map(({ path, variable }) =>
      h('p', { class: 'fine' }, `${path} stays as the variable ${variable} says, until that is removed.`),
    ),
    drawDiff(diff),
  ]
}

/** @param {string} diff a unified diff */
function drawDiff(diff) {
  const lines = diff.trimEnd().split('\n').slice(2)
  return h(
    'pre',
    { class: 'review-diff', tabindex: '0', role: 'region', 'aria-label': 'The difference in config.yaml' },
    ...lines.map((line) =>
      line.startsWith('+')
        ? h('ins', {}, `${line}\n`)
        : line.startsWith('-')
          ? h('del', {}, `${line}\n`)
          : h('span', { class: line.startsWith('@@') ? 'hunk' : undefined }, `${line}\n`),
    ),
  )
}
