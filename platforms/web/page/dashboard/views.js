/**
 * The views of the dashboard.
 *
 * A view is one entry here, in the order of the list beside it, and a module with `show(context)`. The module is imported when the
 * view opens for the first time. `show` fills `context.root` and may resolve later; whatever it begins ends with `context.signal`, which aborts
 * when another view opens. What it rejects with is shown with a button that tries again. Lists are made with `createList` (list.js), forms
 * with `showForm` and questions with `confirm` (dialogs.js), sections with `createSection` (section.js). Styles that a view alone
 * needs are added with `loadStyle` (section.js). Its tests are in `test/platforms/web/dashboard*.test.ts`.
 */

/**
 * @typedef {object} ViewContext
 * @property {HTMLElement} root empty; the title of the view stands above it
 * @property {import('../api.js').Api} api `api.request(path, { body })` is for the routes without a function of their own
 * @property {AbortSignal} signal
 * @property {URLSearchParams} params of the address, such as filters, so that a link leads to them
 * @property {(params: Record<string, string>) => void} setParams replaces them in the address; '' removes one
 * @property {(topics: readonly Topic[], listener: () => void) => void} onChange calls when one of them may have changed
 * @property {(text: string) => void} say tells it to screen readers
 */

/** @typedef {string} Topic */

/** @typedef {{ show: (context: ViewContext) => void | Promise<void> }} ViewModule */

/** @type {readonly { name: string, title: string, about: string, load: () => Promise<ViewModule> }[]} */
export const views = [
  { name: 'now', title: 'Now', about: 'What runs, what waits, and what needs you', load: () => import('./now.js') },
  {
    name: 'automations',
    title: 'Automations',
    about: 'Jobs, webhooks, hooks and plugins',
    load: () => import('./automations.js'),
  },
  {
    name: 'agent',
    title: 'Agent',
    about: 'What it knows, what it may use, and where it works',
    load: () => import('./agent.js'),
  },
  {
    name: 'people',
    title: 'People',
    about: 'Who may talk to Hermes, and what runs without a question',
    load: () => import('./people.js'),
  },
  {
    name: 'spend',
    title: 'Spend',
    about: 'Tokens and money, by day',
    load: () => import('./spend.js'),
  },
  {
    name: 'settings',
    title: 'Settings',
    about: 'config.yaml and .env of this gateway',
    load: () => import('./settings.js'),
  },
  { name: 'logs', title: 'Logs', about: 'What the gateway writes into its log', load: () => import('./logs.js') },
]
