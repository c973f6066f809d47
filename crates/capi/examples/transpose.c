/* Transposes a matrix in place by one call, then a batch of them with a plan and the program's own workspace. */
#include <stdio.h>
#include <stdlib.h>
#include <turntile.h>

static void must(turntile_status status) {
    if (status != TURNTILE_SUCCESS) {
        fprintf(stderr, "%s: %s\n", turntile_status_name(status), turntile_last_error());
        exit(EXIT_FAILURE);
    }
}

int main(void) {
    float matrix[2 * 3] = {1, 2, 3, 4, 5, 6};
    must(turntile_transpose(matrix, 2, 3, sizeof *matrix));
    for (int row = 0; row < 3; row++)
        printf("%g %g\n", matrix[2 * row], matrix[2 * row + 1]);

    enum { BATCH = 2, ROWS = 300, COLS = 200 };
    size_t shape[] = {ROWS, COLS}, axes[] = {1, 0};
    turntile_desc desc = TURNTILE_DESC_INIT;
    desc.itemsize = sizeof(int);
    desc.ndim = 2;
    desc.shape = shape;
    desc.axes = axes;
    desc.batch = BATCH;
    desc.threads = 2;
    desc.workspace_limit = 64 << 10;
    turntile_plan *plan;
    must(turntile_plan_create(&desc, &plan));

    size_t workspace_bytes = turntile_plan_workspace(plan);
    void *workspace = malloc(workspace_bytes);
    int *data = malloc(sizeof(int) * BATCH * ROWS * COLS);
    if (!data || (workspace_bytes && !workspace))
        return EXIT_FAILURE;
    for (int k = 0; k < BATCH * ROWS * COLS; k++)
        data[k] = k;
    must(turntile_execute(plan, data, sizeof(int) * BATCH * ROWS * COLS, workspace, workspace_bytes, NULL));
    int wrong = 0;
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++)
                wrong += data[(b * COLS + j) * ROWS + i] != (b * ROWS + i) * COLS + j;
    printf("%d of %d elements wrong\n", wrong, BATCH * ROWS * COLS);
    free(data);
    free(workspace);
    turntile_plan_destroy(plan);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
