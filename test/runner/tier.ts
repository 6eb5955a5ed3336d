/** The reason of a test that `npm test` leaves out. The runner counts these apart from tests that cannot run on this machine. */
export const leftOut = 'npm run test:all'
